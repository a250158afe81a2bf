//! `note!` and `name!`: what a task does, and what a thing is called, in the program's own words.

/// Tells what the current task does, in the words of the code under test.
#[macro_export]
macro_rules! note {
    ($($arg:tt)+) => { if $crate::INSTRUMENTED { $crate::__note!($($arg)+) } };
}

/// Names an object in timelines and reports.
#[macro_export]
macro_rules! name {
    ($object:expr, $($arg:tt)+) => { if $crate::INSTRUMENTED { $crate::__name!($object, $($arg)+) } };
}

/// Names an atomic word and says how to show its value.
#[macro_export]
macro_rules! name_word {
    ($word:expr, $show:expr, $($arg:tt)+) => {
        if $crate::INSTRUMENTED { $crate::__name_word!($word, $show, $($arg)+) }
    };
}

#[cfg(not(feature = "sim"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __note {
    ($($arg:tt)+) => {{
        let _ = || ::std::format!($($arg)+);
    }};
}

#[cfg(not(feature = "sim"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __name {
    ($object:expr, $($arg:tt)+) => {{
        let _ = || (&raw const *$object, ::std::format!($($arg)+));
    }};
}

#[cfg(not(feature = "sim"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __name_word {
    ($word:expr, $show:expr, $($arg:tt)+) => {{
        let _show: fn(u64) -> String = $show;
        let _ = || ($word, ::std::format!($($arg)+));
    }};
}
