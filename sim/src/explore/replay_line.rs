//! The one line that replays a failing test.

/// The command that runs the test `name` of `package` alone.
pub(crate) fn for_test(package: &str, name: &str) -> String {
    let package = if package.is_empty() { String::new() } else { format!(" -p {package}") };
    format!("cargo test{package} {name} -- --exact")
}
