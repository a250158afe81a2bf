//! The pictures of the races; the test target `timelines` draws them again.
