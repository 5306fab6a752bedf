//! The check of an answer against its item.

use std::fmt;

use regex_lite::Regex;
use serde_json::Value;

use crate::condition::{as_number, is_empty};
use crate::{Condition, FormItem, ItemChoice, ItemKind, MAX_ANSWER, NONE, Values, key_of};

/// A rule for an answer, and the message if it is broken.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The rule.
    pub rule: Rule,
    /// The message if it is broken; empty for the usual sentence.
    pub text: String,
}

/// A rule for an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// A number, within bounds.
    Numeric {
        /// The least.
        min: Option<f64>,
        /// The most.
        max: Option<f64>,
    },
    /// A text of this many characters.
    Text {
        /// The fewest.
        min: usize,
        /// The most.
        max: Option<usize>,
        /// True if it may have digits.
        digits: bool,
    },
    /// A text in which a pattern is found.
    Pattern(Pattern),
    /// An e-mail address.
    Email,
    /// So many choices.
    Count {
        /// The fewest.
        min: usize,
        /// The most.
        max: Option<usize>,
    },
    /// A condition over all answers.
    Holds(Condition),
    /// A value that sorts within bounds, such as a date.
    Between {
        /// The first.
        min: Option<String>,
        /// The last.
        max: Option<String>,
    },
}

/// A regular expression.
#[derive(Clone, Debug)]
pub struct Pattern {
    source: String,
    regex: Regex,
}

impl Pattern {
    /// Reads one. It may have neither back references nor lookarounds, which could take forever.
    ///
    /// # Errors
    /// A description of the fault.
    pub fn read(source: &str, fold: bool) -> Result<Self, String> {
        let regex = regex_lite::RegexBuilder::new(source)
            .case_insensitive(fold)
            .size_limit(1 << 18)
            .build();
        let source = source.to_owned();
        match regex {
            Ok(regex) => Ok(Self { source, regex }),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Its text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Tells if it is found in a text.
    pub fn is_found_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

/// A problem of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerProblem {
    /// There is none.
    Unanswered,
    /// A row of a table has none.
    UnansweredRow,
    /// It is not one of those that the item takes.
    Unfit,
    /// It is no number.
    NotANumber,
    /// It is below this number.
    Below(f64),
    /// It is above this number.
    Above(f64),
    /// It has fewer characters.
    Short(usize),
    /// It has more characters.
    Long(usize),
    /// It has digits.
    Digits,
    /// It is not written as it should be.
    Pattern,
    /// It is no e-mail address.
    NotAnAddress,
    /// It is fewer choices.
    Few(usize),
    /// It is more choices.
    Many(usize),
    /// It is before this.
    Before(String),
    /// It is after this.
    After(String),
    /// It does not go with the other answers.
    Contradiction,
    /// A part of it has a problem.
    Part {
        /// The names of the part, from outside in.
        path: Vec<String>,
        /// The title.
        title: String,
        /// The problem.
        problem: Box<AnswerProblem>,
    },
    /// The message of the study.
    OwnText(String),
}

/// In English; pages say it in the language of the study.
impl fmt::Display for AnswerProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanswered => f.write_str("Please answer this question."),
            Self::UnansweredRow => f.write_str("Please answer every row."),
            Self::Unfit => f.write_str("Please choose one of the answers."),
            Self::NotANumber => f.write_str("Please enter a number."),
            Self::Below(least) => write!(f, "Please enter a number of {least} or more."),
            Self::Above(most) => write!(f, "Please enter a number of {most} or less."),
            Self::Short(1) => f.write_str("Please write at least 1 character."),
            Self::Short(least) => write!(f, "Please write at least {least} characters."),
            Self::Long(1) => f.write_str("Please write 1 character at most."),
            Self::Long(most) => write!(f, "Please write {most} characters at most."),
            Self::Digits => f.write_str("Please leave out the digits."),
            Self::Pattern => f.write_str("Please check the format of this answer."),
            Self::NotAnAddress => f.write_str("Please enter an e-mail address."),
            Self::Few(least) => write!(f, "Please choose at least {least}."),
            Self::Many(most) => write!(f, "Please choose {most} at most."),
            Self::Before(first) => write!(f, "Please choose {first} or later."),
            Self::After(last) => write!(f, "Please choose {last} or earlier."),
            Self::Contradiction => {
                f.write_str("Please check this answer. It contradicts another one.")
            }
            Self::Part { title, problem, .. } => write!(f, "{title}: {problem}"),
            Self::OwnText(text) => f.write_str(text),
        }
    }
}

impl FormItem {
    /// Returns whether a value is of the kind that the item takes.
    pub fn is_taken(&self, value: &Value) -> bool {
        let one = |choices: &[ItemChoice], value: &Value| {
            choices.iter().any(|choice| choice.value == *value)
        };
        match (&self.kind, value) {
            (ItemKind::One(choices) | ItemKind::List(choices), value) => one(choices, value),
            (ItemKind::Rating { points, .. }, value) => one(points, value),
            (ItemKind::Many { choices, none }, Value::Array(chosen)) => {
                let once = |(i, value)| one(choices, value) && !chosen[..i].contains(value);
                let alone = !none || chosen.len() < 2 || !chosen.iter().any(|value| value == NONE);
                alone && chosen.iter().enumerate().all(once)
            }
            (ItemKind::Boolean { .. }, value) => value.is_boolean(),
            (ItemKind::Line { .. }, value) if self.is_number() => value.is_number(),
            (ItemKind::Line { .. } | ItemKind::Lines, Value::String(text)) => {
                text.chars().count() <= MAX_ANSWER
            }
            (
                ItemKind::Slider {
                    min,
                    max,
                    step,
                    range,
                },
                value,
            ) => {
                let is_on = |value: &Value| {
                    let steps = value.as_f64().map(|number| (number - min) / step);
                    let last = (max - min) / step;
                    steps.is_some_and(|at| {
                        (at - at.round()).abs() < 1e-6 && (-1e-6..=last + 1e-6).contains(&at)
                    })
                };
                match (range, value.as_array().map(Vec::as_slice)) {
                    (true, Some([low, high])) => {
                        is_on(low) && is_on(high) && low.as_f64() <= high.as_f64()
                    }
                    (true, _) => false,
                    (false, _) => is_on(value),
                }
            }
            (ItemKind::Ranking(choices), Value::Array(order)) => {
                let is_there = |choice: &ItemChoice| order.contains(&choice.value);
                order.len() == choices.len() && choices.iter().all(is_there)
            }
            (ItemKind::Parts(parts), Value::Object(map)) => map.iter().all(|(name, value)| {
                let part = parts.iter().find(|part| part.name == *name);
                part.is_some_and(|part| part.is_taken(value))
            }),
            (ItemKind::Matrix { columns, rows }, Value::Object(map)) => {
                let is_row = |name: &String| rows.iter().any(|row| key_of(&row.value) == *name);
                map.iter()
                    .all(|(row, value)| is_row(row) && one(columns, value))
            }
            _ => false,
        }
    }

    /// Returns whether it must be answered, by these values.
    pub fn is_required(&self, values: &Values) -> bool {
        self.required
            || self
                .required_if
                .as_ref()
                .is_some_and(|when| when.holds(values))
    }

    /// The problem of its answer among these, if it is shown.
    pub fn find_problem(&self, values: &Values) -> Option<AnswerProblem> {
        if !self.is_asked() || !self.is_enabled(values) {
            return None;
        }
        self.problem_of(values.get(&self.name), values)
    }

    /// Returns the problem of its answer, or of a part of it; `values` are those of the whole form.
    fn problem_of(&self, value: Option<&Value>, values: &Values) -> Option<AnswerProblem> {
        let required = self.is_required(values);
        let said = |usual: AnswerProblem, own: &str| match own {
            "" => usual,
            own => AnswerProblem::OwnText(own.to_owned()),
        };
        if let Some(value) = value.filter(|value| !self.is_taken(value)) {
            let part = self.part_problem(Some(value), values);
            return Some(match &self.kind {
                ItemKind::Line { .. } if self.is_number() => AnswerProblem::NotANumber,
                ItemKind::Line { .. } | ItemKind::Lines if value.is_string() => {
                    AnswerProblem::Long(MAX_ANSWER)
                }
                _ => part.unwrap_or(AnswerProblem::Unfit),
            });
        }
        let value = value.filter(|value| !is_empty(value));
        if let Some(missing) = self.missing(value, required) {
            return Some(said(missing, &self.required_text));
        }
        if let Some(part) = self.part_problem(value, values) {
            return Some(part);
        }
        let value = value?;
        let broken = |check: &Check| Some(said(check.rule.broken(value, values)?, &check.text));
        self.checks.iter().find_map(broken)
    }

    /// The first problem of its parts.
    fn part_problem(&self, value: Option<&Value>, values: &Values) -> Option<AnswerProblem> {
        let ItemKind::Parts(parts) = &self.kind else {
            return None;
        };
        let problem = |part: &Self| {
            let value = value.and_then(|value| value.get(&part.name));
            let problem = part.problem_of(value, values)?;
            let (name, title) = (part.name.clone(), part.title.clone());
            Some(match problem {
                AnswerProblem::Part {
                    path,
                    title: inner,
                    problem,
                } => AnswerProblem::Part {
                    path: [vec![name], path].concat(),
                    title: format!("{title}, {inner}"),
                    problem,
                },
                problem => AnswerProblem::Part {
                    path: vec![name],
                    title,
                    problem: Box::new(problem),
                },
            })
        };
        parts.iter().find_map(problem)
    }

    /// The problem of an answer that leaves something required out.
    fn missing(&self, value: Option<&Value>, required: bool) -> Option<AnswerProblem> {
        match (&self.kind, value) {
            (ItemKind::Matrix { rows, .. }, value) if required => {
                let has = |row: &ItemChoice| {
                    value.is_some_and(|value| value.get(key_of(&row.value)).is_some())
                };
                (!rows.iter().all(has)).then_some(AnswerProblem::UnansweredRow)
            }
            (_, None) if required => Some(AnswerProblem::Unanswered),
            _ => None,
        }
    }
}

impl Rule {
    /// The problem of a value that is there.
    fn broken(&self, value: &Value, values: &Values) -> Option<AnswerProblem> {
        let length = || value.as_str().map(|text| text.trim().chars().count());
        match self {
            Self::Numeric { min, max } => {
                let Some(number) = as_number(value) else {
                    return Some(AnswerProblem::NotANumber);
                };
                let below = min.filter(|min| number < *min).map(AnswerProblem::Below);
                below.or(max.filter(|max| number > *max).map(AnswerProblem::Above))
            }
            Self::Text { min, max, digits } => {
                let length = length()?;
                let has_digits = || key_of(value).contains(|c: char| c.is_ascii_digit());
                match *max {
                    _ if length < *min => Some(AnswerProblem::Short(*min)),
                    Some(max) if length > max => Some(AnswerProblem::Long(max)),
                    _ => (!digits && has_digits()).then_some(AnswerProblem::Digits),
                }
            }
            Self::Pattern(pattern) => {
                (!pattern.regex.is_match(&key_of(value))).then_some(AnswerProblem::Pattern)
            }
            Self::Email => (!is_address(&key_of(value))).then_some(AnswerProblem::NotAnAddress),
            Self::Count { min, max } => {
                let count = value.as_array()?.len();
                match *max {
                    _ if count < *min => Some(AnswerProblem::Few(*min)),
                    Some(max) if count > max => Some(AnswerProblem::Many(max)),
                    _ => None,
                }
            }
            Self::Holds(when) => (!when.holds(values)).then_some(AnswerProblem::Contradiction),
            Self::Between { min, max } => {
                let text = value.as_str()?;
                let before = min.as_ref().filter(|min| text < min.as_str());
                let after = max.as_ref().filter(|max| text > max.as_str());
                let before = before.map(|min| AnswerProblem::Before(min.clone()));
                before.or(after.map(|max| AnswerProblem::After(max.clone())))
            }
        }
    }
}

/// Returns whether a text looks like an e-mail address: something, `@`, a name with a dot in it, and no blank.
fn is_address(text: &str) -> bool {
    let Some((user, host)) = text.rsplit_once('@') else {
        return false;
    };
    let is_host = host.contains('.')
        && !host.starts_with('.')
        && !host.ends_with('.')
        && !host.contains("..");
    !user.is_empty() && is_host && !text.contains(char::is_whitespace) && !user.contains('@')
}
