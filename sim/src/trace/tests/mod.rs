//! Whole pictures, compared as they are read.

mod build;
mod report;
mod timeline;
