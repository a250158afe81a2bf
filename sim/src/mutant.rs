//! Mutants: known bugs, switched back on by name.
//!
//! A test that cannot fail proves nothing. Beside the right line stands the wrong one, behind
//! `mutant::is("name")`; a run with that mutant must fail. Natively the answer is a constant.

/// Whether the bug `name` is switched on in the current execution.
#[inline(always)]
#[must_use]
pub fn is(name: &str) -> bool {
    #[cfg(feature = "sim")]
    return crate::core::mutant_is(name);
    #[cfg(not(feature = "sim"))]
    {
        let _ = name;
        false
    }
}
