//! `note!` and `name!`: what a task does, and what a thing is called, in the program's own words.

/// Tells what the current task does, in the words of the code under test.
#[macro_export]
macro_rules! note {
    ($($arg:tt)+) => { if $crate::INSTRUMENTED { $crate::__note!($($arg)+) } };
}

/// Names an object in timelines and reports: a reference, or a pointer to where it is.
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

#[cfg(feature = "sim")]
#[doc(hidden)]
#[macro_export]
macro_rules! __note {
    ($($arg:tt)+) => {
        if $crate::private::listening() {
            $crate::private::note(::std::format!($($arg)+));
        }
    };
}

#[cfg(feature = "sim")]
#[doc(hidden)]
#[macro_export]
macro_rules! __name {
    ($object:expr, $($arg:tt)+) => {
        if $crate::private::listening() {
            $crate::private::name($object, None, ::std::format!($($arg)+));
        }
    };
}

#[cfg(feature = "sim")]
#[doc(hidden)]
#[macro_export]
macro_rules! __name_word {
    ($word:expr, $show:expr, $($arg:tt)+) => {
        if $crate::private::listening() {
            $crate::private::name($word, Some($show), ::std::format!($($arg)+));
        }
    };
}

#[cfg(feature = "sim")]
#[doc(hidden)]
#[must_use]
pub fn listening() -> bool {
    crate::core::listening()
}

#[cfg(feature = "sim")]
#[doc(hidden)]
#[track_caller]
pub fn note(text: String) {
    crate::core::note(text, std::panic::Location::caller());
}

#[cfg(feature = "sim")]
#[doc(hidden)]
pub fn name<T: ?Sized>(object: *const T, show: Option<fn(u64) -> String>, name: String) {
    crate::core::name_object(object.cast::<u8>().addr(), name, show);
}
