//! Sampling: every configuration in turn, round after round.

/// What is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    FetchAdd,
    Spinlock,
    Page,
    Words,
    SpawnJoin,
}

impl Program {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::FetchAdd => "fetch_add",
            Self::Spinlock => "spinlock",
            Self::Page => "page",
            Self::Words => "words",
            Self::SpawnJoin => "spawn_join",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::FetchAdd => "2 tasks x 10 fetch_add",
            Self::Spinlock => "4 tasks x 100 acquisitions of a test-and-set spinlock",
            Self::Page => "4 tasks x 100 changes of 64 bytes under a test-and-set spinlock",
            Self::Words => "8 tasks x 1,000 operations on 16 words",
            Self::SpawnJoin => "4 tasks, spawn and join only",
        }
    }
}

/// One peer with one scheduler.
pub(crate) struct Config {
    pub(crate) peer: &'static str,
    pub(crate) scheduler: &'static str,
    /// Whether it can run the program at all.
    pub(crate) can: fn(Program) -> bool,
    /// Runs this many executions; returns how many it really ran, and the decisions or steps.
    pub(crate) run: Box<dyn Fn(Program, u64) -> (u64, u64)>,
}

/// What one configuration did on one program.
pub(crate) struct Row {
    pub(crate) peer: &'static str,
    pub(crate) scheduler: &'static str,
    /// CPU nanoseconds an execution, one value a round.
    pub(crate) ns: Vec<f64>,
    pub(crate) steps_per_execution: f64,
    /// Its rate over shuttle's random walk, and over shuttle's PCT: medians of the rounds' ratios.
    pub(crate) over_random: f64,
    pub(crate) over_pct: f64,
}

impl Row {
    pub(crate) fn median_ns(&self) -> f64 {
        median(self.ns.clone())
    }
}

/// Process CPU time in nanoseconds.
fn cpu_ns() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

/// Executions that take about 0.3 s, found by doubling; the last run is the warm-up.
fn calibrate(config: &Config, program: Program) -> u64 {
    let mut n = 4;
    loop {
        let before = cpu_ns();
        let (done, _) = (config.run)(program, n);
        let took = cpu_ns() - before;
        if took > 5e7 || done < n {
            return ((done as f64 * 3e8 / took).ceil() as u64).clamp(1, done.max(1) * 10);
        }
        n *= if took < 2e6 { 8 } else { 2 };
    }
}

pub(crate) fn measure(program: Program, configs: &[Config], rounds: usize) -> Vec<Row> {
    let able: Vec<_> = configs.iter().filter(|config| (config.can)(program)).collect();
    let sizes: Vec<_> = able.iter().map(|config| calibrate(config, program)).collect();
    let mut rows: Vec<Row> = able
        .iter()
        .map(|config| Row {
            peer: config.peer,
            scheduler: config.scheduler,
            ns: Vec::new(),
            steps_per_execution: 0.0,
            over_random: 0.0,
            over_pct: 0.0,
        })
        .collect();
    for _ in 0..rounds {
        for ((config, &n), row) in able.iter().zip(&sizes).zip(&mut rows) {
            let before = cpu_ns();
            let (done, steps) = (config.run)(program, n);
            row.ns.push((cpu_ns() - before) / done as f64);
            row.steps_per_execution = steps as f64 / done as f64;
        }
    }
    let shuttle = |scheduler: &str| -> Vec<f64> {
        let row = rows.iter().find(|row| row.peer == "shuttle" && row.scheduler == scheduler);
        row.map(|row| row.ns.clone()).unwrap_or_default()
    };
    let (random, pct) = (shuttle("random"), shuttle("pct3"));
    for row in &mut rows {
        let over = |base: &[f64]| median(base.iter().zip(&row.ns).map(|(a, b)| a / b).collect());
        (row.over_random, row.over_pct) = (over(&random), over(&pct));
    }
    rows
}
