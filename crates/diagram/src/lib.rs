//! A recorded run as a space-time diagram.
#![no_std]
extern crate alloc;
