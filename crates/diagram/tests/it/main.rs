//! Pictures compared with the traces they were drawn from.

mod arrows;
mod bars;
mod faults;
mod folds;
mod gallery;
mod labels;
mod run;
mod svg;
mod waits;
mod window;
