//! Whole pictures, compared as they are read.

mod build;
mod columns;
mod export;
mod report;
mod timeline;
