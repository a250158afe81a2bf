//! Whole pictures, compared as they are read.

mod build;
mod timeline;
