//! Progress on standard error; nothing where that is no terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `length` units that shows what is under way.
pub(crate) fn bar(length: u64, unit: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    let template =
        format!("{{msg:28!}} {{bar:30}} {{human_pos}}/{{human_len}} {unit}, {{eta}} left");
    match ProgressStyle::with_template(&template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

/// Units without an end in sight.
pub(crate) fn counter(unit: &str) -> ProgressBar {
    let bar = ProgressBar::no_length();
    match ProgressStyle::with_template(&format!("{{msg:28!}} {{human_pos}} {unit}, {{elapsed}}")) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
