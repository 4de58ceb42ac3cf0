//! Pictures compared with the traces they were drawn from.

mod arrows;
mod background;
mod bars;
mod delays;
mod elections;
mod faults;
mod folds;
mod gallery;
mod labels;
mod plot;
mod repeats;
mod run;
mod shades;
mod slides;
mod strips;
mod svg;
mod waits;
mod window;
