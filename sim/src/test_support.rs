//! What `#[holdup::test]` expands to: a call of [`run_test`], in both worlds.

/// The options of the attribute.
#[derive(Clone, Copy, Debug)]
pub struct TestOptions {
    /// Run the seeds below this.
    pub seeds: Option<u64>,
    /// Who decides.
    pub scheduler: Option<&'static str>,
    /// The known bug that is switched on.
    pub mutant: Option<&'static str>,
    /// Scheduling points after which an execution counts as endless.
    pub max_steps: Option<u64>,
    /// OS threads.
    pub jobs: Option<u64>,
    /// Whether to look for data races on plain memory.
    pub race_check: Option<bool>,
}

/// Runs the test at `path` (as `module_path!` has it, and its name) of `package` under many
/// schedules.
///
/// # Panics
///
/// Panics if an execution fails, or if the options or the environment cannot be used.
#[cfg(feature = "sim")]
pub fn run_test(package: &str, path: &str, options: &TestOptions, body: &(dyn Fn() + Sync)) {
    let name = name_in_libtest(path);
    let mut checker = crate::Checker::new(name).mutant(options.mutant);
    if let Some(seeds) = options.seeds {
        checker = checker.seeds(0..seeds);
    }
    if let Some(scheduler) = options.scheduler {
        checker = match scheduler.parse() {
            Ok(scheduler) => checker.scheduler(scheduler),
            Err(error) => panic!("scheduler = {scheduler:?} cannot be used: {error}"),
        };
    }
    if let Some(steps) = options.max_steps {
        checker = checker.max_steps(steps);
    }
    if let Some(jobs) = options.jobs {
        checker = checker.jobs(usize::try_from(jobs).unwrap_or(usize::MAX));
    }
    if let Some(check) = options.race_check {
        checker = checker.race_check(check);
    }
    checker.check(&crate::explore::replay_of_test(package, name), body);
}

/// Runs the test once, on real threads.
///
/// # Panics
///
/// Panics if `body` does, or if the options ask for a mutant.
#[cfg(not(feature = "sim"))]
pub fn run_test(_package: &str, path: &str, options: &TestOptions, body: &(dyn Fn() + Sync)) {
    if let Some(mutant) = options.mutant {
        let name = name_in_libtest(path);
        panic!("{name} needs the mutant {mutant:?}, which only exists with holdup's feature `sim`");
    }
    body();
}

/// libtest leaves the crate's name out.
fn name_in_libtest(path: &str) -> &str {
    path.split_once("::").map_or(path, |(_crate, name)| name)
}
