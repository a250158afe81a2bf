//! All scenarios there are, and how a name is looked up.

use crate::scenario::{MutantCase, Scenario};

/// Every story registers itself here, at link time, with [`register!`](crate::register).
#[linkme::distributed_slice]
pub static SCENARIOS: [Scenario];

/// Registers a story; see [`scenario`](crate::scenario).
#[macro_export]
macro_rules! register {
    ($scenario:expr) => {
        const _: () = {
            #[allow(
                unsafe_code,
                reason = "linkme names a link section, which rustc counts as unsafe"
            )]
            #[linkme::distributed_slice($crate::SCENARIOS)]
            static SCENARIO: $crate::Scenario = $scenario;
        };
    };
}

/// A name that nothing answers to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownName {
    /// No scenario is called so.
    #[error("no scenario is called `{name}`{suggestion}; `holdup list` names them all")]
    Scenario {
        /// What was asked for.
        name: String,
        /// ` (did you mean ...?)`, or nothing.
        suggestion: String,
    },
    /// The scenario has no mutant called so.
    #[error("scenario {scenario} has no mutant `{name}`{suggestion}; it has {allowed}")]
    Mutant {
        /// What was asked for.
        name: String,
        /// Of which scenario.
        scenario: &'static str,
        /// ` (did you mean ...?)`, or nothing.
        suggestion: String,
        /// The mutants it has.
        allowed: String,
    },
    /// Neither a scenario nor a mutant of any scenario is called so.
    #[error("no mutant or scenario is called `{name}`{suggestion}; `holdup list` names them all")]
    MutantOrScenario {
        /// What was asked for.
        name: String,
        /// ` (did you mean ...?)`, or nothing.
        suggestion: String,
    },
    /// No scenario is in an area called so.
    #[error("no area is called `{name}`{suggestion}; there are {allowed}")]
    Area {
        /// What was asked for.
        name: String,
        /// ` (did you mean ...?)`, or nothing.
        suggestion: String,
        /// The areas there are.
        allowed: String,
    },
}

/// All scenarios, sorted by name.
#[must_use]
pub fn all() -> Vec<&'static Scenario> {
    let mut all: Vec<_> = SCENARIOS.iter().collect();
    all.sort_by_key(|scenario| scenario.name);
    all
}

/// The scenarios that take part when none is named.
#[must_use]
pub fn unnamed() -> Vec<&'static Scenario> {
    all().into_iter().filter(|scenario| !scenario.judges_schedulers()).collect()
}

/// The areas that have scenarios, sorted.
#[must_use]
pub fn areas() -> Vec<&'static str> {
    let mut areas: Vec<_> = SCENARIOS.iter().map(|scenario| scenario.area).collect();
    areas.sort_unstable();
    areas.dedup();
    areas
}

/// The scenario called `name`.
///
/// # Errors
///
/// [`UnknownName::Scenario`], with the nearest name there is.
pub fn find(name: &str) -> Result<&'static Scenario, UnknownName> {
    SCENARIOS.iter().find(|scenario| scenario.name == name).ok_or_else(|| UnknownName::Scenario {
        name: name.into(),
        suggestion: suggestion(name, all().into_iter().map(|scenario| scenario.name)),
    })
}

/// The scenarios of the area called `name`.
///
/// # Errors
///
/// [`UnknownName::Area`], with the areas there are.
pub fn in_area(name: &str) -> Result<Vec<&'static Scenario>, UnknownName> {
    let found: Vec<_> = all().into_iter().filter(|scenario| scenario.area == name).collect();
    if found.is_empty() {
        let suggestion = suggestion(name, areas());
        return Err(UnknownName::Area { name: name.into(), suggestion, allowed: list(areas()) });
    }
    Ok(found)
}

/// The mutant called `name` of `scenario`.
///
/// # Errors
///
/// [`UnknownName::Mutant`], with the mutants there are.
pub fn find_mutant(
    scenario: &'static Scenario,
    name: &str,
) -> Result<&'static MutantCase, UnknownName> {
    scenario.mutant(name).ok_or_else(|| UnknownName::Mutant {
        name: name.into(),
        scenario: scenario.name,
        suggestion: suggestion(name, scenario.mutants.iter().map(|case| case.name)),
        allowed: list(scenario.mutants.iter().map(|case| case.name)),
    })
}

/// Every pair of scenario and mutant that `name` speaks of, be it a mutant's or a scenario's name.
///
/// # Errors
///
/// [`UnknownName::MutantOrScenario`], with the nearest name there is.
pub fn find_cases(
    name: &str,
) -> Result<Vec<(&'static Scenario, &'static MutantCase)>, UnknownName> {
    let pairs = all()
        .into_iter()
        .flat_map(|scenario| scenario.mutants.iter().map(move |case| (scenario, case)));
    let found: Vec<_> =
        pairs.filter(|(scenario, case)| scenario.name == name || case.name == name).collect();
    if found.is_empty() && find(name).is_err() {
        let names = all().into_iter().flat_map(|scenario| {
            scenario.mutants.iter().map(|case| case.name).chain([scenario.name])
        });
        let suggestion = suggestion(name, names);
        return Err(UnknownName::MutantOrScenario { name: name.into(), suggestion });
    }
    Ok(found)
}

/// ` (did you mean ...?)` with the name nearest to `asked`, or nothing where none is near.
fn suggestion<'a>(asked: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let likeness = |name: &str| strsim::jaro_winkler(asked, name);
    let nearest = names.into_iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest {
        Some(name) if likeness(name) > 0.7 => format!(" (did you mean `{name}`?)"),
        _ => String::new(),
    }
}

/// `a, b, c`, or `none`.
fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique() {
        let names: Vec<_> = all().iter().map(|scenario| scenario.name).collect();

        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    }

    #[test]
    fn every_story_says_what_it_is_about() {
        for scenario in all() {
            let name = scenario.name;
            assert!(!name.is_empty() && !name.contains([' ', '_', '/']), "bad name {name:?}");
            assert!(!scenario.area.is_empty(), "{name} has no area");
            assert!(!scenario.summary.is_empty(), "{name} has no summary");
            assert!(!scenario.rules.is_empty(), "{name} checks no rule");
            assert!(scenario.mutants.iter().all(|case| case.budget > 0), "{name}: budget of 0");
            let _ = scenario.parsed_script();
            if let Some(mutant) = scenario.script_mutant {
                assert!(scenario.mutant(mutant).is_some(), "{name} has no mutant {mutant}");
            }
        }
    }

    #[test]
    fn a_misspelt_name_is_answered_with_the_nearest() {
        let error = find("lossy-unpim").unwrap_err().to_string();

        assert!(error.contains("`lossy-unpim` (did you mean `lossy-unpin`?)"), "{error}");
    }

    #[test]
    fn a_name_like_no_other_gets_no_suggestion() {
        assert_eq!(suggestion("qqq", ["pin-vs-evict"]), "");
    }
}
