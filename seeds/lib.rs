//! Seeds that once failed; the test target `replay` runs them again.
