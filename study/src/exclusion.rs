//! Rules that mark the data of a session. In the file: `exclusions`.
//!
//! A rule sets a flag in the tables, with its reason, and does nothing else: nobody is paid less or sent away. So rules can
//! be changed, and run again over old data.

use std::collections::BTreeMap;

use formula::Value;
use serde::Serialize;

use crate::adherence;
use crate::formula::{Formula, Type, Types};
use crate::limits::MAX_EXCLUSIONS;
use crate::problem::{Problem, ProblemReport};
use crate::read::Cursor;
use crate::yaml;

/// The longest reason, characters.
const MAX_REASON: usize = 300;

/// A rule that marks the data of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExclusionRule {
    /// Its name in the tables.
    pub name: String,
    /// It marks sessions for which this holds.
    pub when: Formula,
    /// The reason, for those who read the tables.
    pub reason: String,
}

/// The quality of the data of a session, over all episodes that the person played. Shares are from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionQuality {
    /// Episodes in which the person had a seat.
    pub episodes: u32,
    /// Episodes among them that did not end as `played`.
    pub unfinished: u32,
    /// Episodes among them with a score of 0 or less.
    pub zero_scores: u32,
    /// The share of the person's ticks without an action (with the no-op).
    pub noop_share: Option<f64>,
    /// The share of the person's ticks in stretches of at least five seconds without an action.
    pub idle_share: Option<f64>,
    /// The longest stretch without an action, seconds.
    pub longest_idle_s: Option<f64>,
    /// The share of the time in which the page was hidden.
    pub hidden_share: Option<f64>,
    /// The share of the time in which the page was gone.
    pub away_share: Option<f64>,
    /// The share of the ticks in which an AI partner or nobody played for the person.
    pub lost_share: Option<f64>,
    /// Items of `attention` that were answered wrongly or not at all.
    pub attention_failed: u32,
    /// Time with signs of life, minutes.
    pub minutes: f64,
    /// True if the session ended as `completed`.
    pub completed: bool,
    /// The agreement of the person's actions with those of policies, by the name of the measure.
    pub adherence: BTreeMap<String, SessionAdherence>,
}

/// The agreement of a person's actions with those of a policy, over all episodes of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SessionAdherence {
    /// The share of decisions that are equal, from 0 to 1.
    pub equal_share: Option<f64>,
    /// The mean probability that the policy gives to the person's action.
    pub mean_probability: Option<f64>,
}

impl SessionAdherence {
    const NAMES: [&str; 2] = ["equal_share", "mean_probability"];

    /// Returns the values for formulas; values that were not measured are left out.
    fn values(self) -> Value {
        let numbers = [self.equal_share, self.mean_probability];
        let known = Self::NAMES.into_iter().zip(numbers);
        let known =
            known.filter_map(|(name, number)| Some((name.to_owned(), Value::Number(number?))));
        Value::Record(known.collect())
    }
}

impl SessionQuality {
    /// Returns the types of the values, for formulas; `measures` are the names of the measures of adherence.
    fn types(measures: &[String]) -> Types {
        let numbers = [
            "episodes",
            "unfinished",
            "zero_scores",
            "noop_share",
            "idle_share",
            "longest_idle_s",
            "hidden_share",
            "away_share",
            "lost_share",
            "attention_failed",
            "minutes",
        ];
        let numbers = numbers.map(|name| (name.to_owned(), Type::Number));
        let mut types = Types::from(numbers);
        types.insert("completed".to_owned(), Type::Bool);
        if !measures.is_empty() {
            let of_one = SessionAdherence::NAMES.map(|name| (name, Type::Number));
            let measures = measures.iter();
            let measures = measures.map(|name| (name.clone(), Type::record(of_one.clone())));
            types.insert("adherence".to_owned(), Type::Record(measures.collect()));
        }
        types
    }

    /// Returns the values for formulas; values that were not measured are left out.
    fn values(&self) -> BTreeMap<String, Value> {
        let count = |count: u32| Some(f64::from(count));
        let numbers = [
            ("episodes", count(self.episodes)),
            ("unfinished", count(self.unfinished)),
            ("zero_scores", count(self.zero_scores)),
            ("noop_share", self.noop_share),
            ("idle_share", self.idle_share),
            ("longest_idle_s", self.longest_idle_s),
            ("hidden_share", self.hidden_share),
            ("away_share", self.away_share),
            ("lost_share", self.lost_share),
            ("attention_failed", count(self.attention_failed)),
            ("minutes", Some(self.minutes)),
        ];
        let numbers = numbers.into_iter();
        let known =
            numbers.filter_map(|(name, number)| Some((name.to_owned(), Value::Number(number?))));
        let completed = ("completed".to_owned(), Value::Bool(self.completed));
        let adherence = self.adherence.iter();
        let adherence = adherence.map(|(name, measured)| (name.clone(), measured.values()));
        let adherence = ("adherence".to_owned(), Value::Record(adherence.collect()));
        known.chain([completed, adherence]).collect()
    }
}

impl ExclusionRule {
    /// Tells whether the rule marks a session; `None` if it has no value, because something was not measured.
    pub fn does_apply(&self, quality: &SessionQuality) -> Option<bool> {
        match self.when.eval(&quality.values()) {
            Ok(Value::Bool(holds)) => Some(holds),
            _ => None,
        }
    }
}

/// Reads the list, whose formulas can ask for these measures of adherence.
pub(crate) fn read(place: &Cursor<'_>, measures: &[String]) -> Option<Vec<ExclusionRule>> {
    let places = place.list("rules", MAX_EXCLUSIONS)?;
    let rules: Vec<Option<ExclusionRule>> = places
        .iter()
        .map(|place| read_rule(place, measures))
        .collect();
    let rules: Vec<ExclusionRule> = rules.into_iter().collect::<Option<_>>()?;
    for (number, rule) in rules.iter().enumerate() {
        let mut before = rules[..number].iter();
        if before.any(|other| other.name == rule.name) {
            places[number].wrong_at(
                "name",
                format!("`{}` is there twice; name each rule differently", rule.name),
            );
            return None;
        }
    }
    Some(rules)
}

fn read_rule(place: &Cursor<'_>, measures: &[String]) -> Option<ExclusionRule> {
    let mut fields = place.fields("a rule")?;
    let name = fields.key("name", "The name of the rule in the table `exclusions`.");
    let name = name.require_key("inactive", |place| place.id());
    let doc = "A formula over the quality of a session, such as `noop_share >= 0.975`. The rule marks sessions for \
               which it holds.";
    let when = fields.key("when", doc);
    let types = SessionQuality::types(measures);
    let when = when.require_key("noop_share >= 0.975", |place| {
        Formula::read(&place, &types, &Type::Bool)
    });
    let doc = "The reason, for those who read the tables.";
    let reason = fields.key("reason", doc);
    let reason = reason.require_key("did nothing in nearly every tick", |place| {
        place.text(MAX_REASON)
    });
    fields.done();
    Some(ExclusionRule {
        name: name?,
        when: when?,
        reason: reason?,
    })
}

/// Reads the rules of a study file, or of any file with a key `exclusions`. Of the other keys, only `adherence` is
/// read: rules can use the measures that it names.
///
/// # Errors
/// Every [`Problem`], with `file` as its file.
pub fn read_exclusions(file: &str, text: &str) -> Result<Vec<ExclusionRule>, Vec<Problem>> {
    let report = ProblemReport::new(file);
    let source = yaml::parse(text.trim_start_matches('\u{feff}'), &report);
    let rules = source.and_then(|source| {
        let root = Cursor::root(&source, &report);
        match root.child_at("exclusions") {
            Some(place) => read(&place, &adherence::list_names(&root)),
            None => {
                root.report_problem("there is no key `exclusions`; write `exclusions: [{name: …, when: …, reason: …}]`");
                None
            }
        }
    });
    report.result(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quality() -> SessionQuality {
        SessionQuality {
            episodes: 8,
            zero_scores: 5,
            noop_share: Some(0.98),
            lost_share: Some(0.2),
            minutes: 12.5,
            completed: true,
            ..SessionQuality::default()
        }
    }

    fn rule(when: &str) -> Result<ExclusionRule, Vec<Problem>> {
        let text = format!("exclusions:\n  - {{name: r, when: {when:?}, reason: why}}\n");
        read_exclusions("rules.yaml", &text).map(|mut rules| rules.remove(0))
    }

    #[test]
    fn a_rule_marks_the_sessions_for_which_it_holds() {
        for (when, expected) in [
            ("noop_share >= 0.975", Some(true)),
            ("lost_share > 0.35", Some(false)),
            ("zero_scores >= 5 && episodes == 8", Some(true)),
            ("!completed", Some(false)),
            ("hidden_share > 0.5", None),
        ] {
            assert_eq!(
                rule(when).unwrap().does_apply(&quality()),
                expected,
                "{when}"
            );
        }
    }

    #[test]
    fn every_value_has_a_type_and_every_type_a_value() {
        let all = SessionQuality {
            idle_share: Some(0.0),
            longest_idle_s: Some(0.0),
            hidden_share: Some(0.0),
            away_share: Some(0.0),
            adherence: BTreeMap::from([("greedy".to_owned(), SessionAdherence::default())]),
            ..quality()
        };
        let names = ["greedy".to_owned()];
        let (types, values) = (SessionQuality::types(&names), all.values());
        assert!(types.keys().eq(values.keys()), "{types:?} {values:?}");
        let json = serde_json::to_value(all).unwrap();
        assert!(types.keys().all(|name| json.get(name).is_some()), "{json}");
    }

    #[test]
    fn a_rule_asks_for_the_measures_that_its_file_names() {
        let rules =
            "exclusions:\n  - {name: r, when: adherence.greedy.equal_share < 0.5, reason: why}\n";
        let unknown = read_exclusions("rules.yaml", rules).unwrap_err();
        assert!(unknown[0].message.contains("adherence"), "{}", unknown[0]);
        let measures = "adherence: [{name: greedy, stage: play, policy: cook}]\n";
        let rules = read_exclusions("rules.yaml", &format!("{measures}{rules}")).unwrap();
        assert_eq!(rules[0].does_apply(&quality()), None, "it was not measured");
        let measured = |equal_share| SessionQuality {
            adherence: BTreeMap::from([(
                "greedy".to_owned(),
                SessionAdherence {
                    equal_share: Some(equal_share),
                    mean_probability: None,
                },
            )]),
            ..quality()
        };
        assert_eq!(rules[0].does_apply(&measured(0.4)), Some(true));
        assert_eq!(rules[0].does_apply(&measured(0.5)), Some(false));
    }

    #[test]
    fn faults_are_told_where_they_are() {
        let wrong = rule("noops > 1").unwrap_err();
        assert_eq!(
            (wrong[0].line, wrong[0].path.as_str()),
            (2, "exclusions[0].when")
        );
        assert!(wrong[0].message.contains("noops"), "{}", wrong[0]);
        let none = read_exclusions("study.yaml", "study: {id: x}\n").unwrap_err();
        assert!(
            none[0].message.contains("no key `exclusions`"),
            "{}",
            none[0]
        );
        let twice = "exclusions:\n- {name: a, when: completed, reason: b}\n- {name: a, when: completed, reason: b}\n";
        let twice = read_exclusions("study.yaml", twice).unwrap_err();
        assert!(twice[0].message.contains("twice"), "{}", twice[0]);
    }
}
