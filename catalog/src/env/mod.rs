//! `coplay env`: the list of environments, their descriptions, and checks of the laws, for those of this program, for
//! grid worlds in files and for modules alike.

mod check;
mod source;

use std::fmt;

use env_core::Spec;
use env_core::envs;
use serde::Serialize;
use serde_json::{Map, Value};

pub use check::{Breach, Checked, Law, check};
pub(crate) use source::Source;

/// The environments of this program.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// One for each id.
    pub environments: Vec<ListedEnvironment>,
}

/// An environment in a list.
#[derive(Debug, Serialize)]
pub struct ListedEnvironment {
    /// Its id.
    pub id: String,
    /// Version of its rules.
    pub version: String,
    /// Its name for people.
    pub title: String,
    /// Number of seats with the default parameters.
    pub seats: u8,
    /// Number of actions.
    pub actions: usize,
    /// Values of an observation.
    pub observation: usize,
}

/// Lists the environments of this program.
///
/// # Errors
/// One refuses its own defaults.
pub fn list() -> anyhow::Result<Listed> {
    let line = |id: &&str| {
        let spec = envs::open(id, "")?.spec().clone();
        Ok(ListedEnvironment {
            observation: spec.observation_len(),
            id: spec.id,
            version: spec.version,
            title: spec.title,
            seats: spec.seats,
            actions: spec.actions.len(),
        })
    };
    let environments = envs::IDS.iter().map(line).collect::<anyhow::Result<_>>()?;
    Ok(Listed { environments })
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows =
            vec![["id", "version", "seats", "actions", "observed", "title"].map(String::from)];
        rows.extend(self.environments.iter().map(|line| {
            [
                line.id.clone(),
                line.version.clone(),
                line.seats.to_string(),
                line.actions.to_string(),
                line.observation.to_string(),
                line.title.clone(),
            ]
        }));
        table(f, &rows, "")?;
        write!(f, "\nMore of one: coplay env show {}", envs::IDS[0])
    }
}

/// The description that an environment gives of itself.
#[derive(Debug, Serialize)]
pub struct EnvironmentDescription {
    /// The facts that its parameters fix.
    pub spec: Spec,
    /// JSON Schema of its parameters.
    pub params_schema: Value,
    /// Names of its pictures.
    pub sprites: Vec<String>,
}

/// Asks an environment for its description, with these parameters (JSON; nothing for the defaults).
///
/// # Errors
/// There is no such environment or file, the file is not a sound module, or the parameters are refused.
pub fn describe_environment(name: &str, params: &str) -> anyhow::Result<EnvironmentDescription> {
    let facts = Source::find(name)?.facts_of(name, params)?;
    Ok(EnvironmentDescription {
        spec: facts.spec,
        params_schema: facts.params_schema,
        sprites: facts
            .sprites
            .into_iter()
            .map(|sprite| sprite.name)
            .collect(),
    })
}

impl fmt::Display for EnvironmentDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = &self.spec;
        writeln!(f, "{} ({} {})", spec.title, spec.id, spec.version)?;
        let pace = match spec.tick_hz {
            0 => "turn by turn".to_owned(),
            hz => format!("{hz} steps a second"),
        };
        let (seats, horizon, sprites) = (spec.seats, spec.horizon, self.sprites.len());
        writeln!(
            f,
            "{seats} seats, {pace}, at most {horizon} steps, {sprites} pictures"
        )?;
        writeln!(f, "\nParameters")?;
        let mut rows = Vec::new();
        parameters(&self.params_schema, "", &mut rows);
        table(f, &rows, "  ")?;
        writeln!(f, "\nActions")?;
        let actions = spec.actions.iter().enumerate().map(|(at, action)| {
            let kind = match (at == usize::from(spec.noop), action.momentary) {
                (true, _) => "does nothing",
                (_, true) => "press",
                _ => "lasts",
            };
            let keys = action.keys.join(" ");
            [at.to_string(), action.name.clone(), kind.into(), keys]
        });
        table(f, &actions.collect::<Vec<_>>(), "  ")?;
        self.observation(f)?;
        if spec.events.is_empty() {
            return Ok(());
        }
        write!(f, "\nEvents\n  {}", spec.events.join(", "))
    }
}

impl EnvironmentDescription {
    fn observation(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.spec.compact {
            true => ", whole numbers from -128 to 127",
            false => "",
        };
        writeln!(
            f,
            "\nObservation of a seat: {} values{form}",
            self.spec.observation_len()
        )?;
        let mut start = 0;
        let fields = self.spec.observation.iter().map(|field| {
            let from = start;
            start += field.shape.iter().product::<u32>();
            let shape: Vec<_> = field.shape.iter().map(u32::to_string).collect();
            [
                format!("{from}.."),
                field.name.clone(),
                format!("[{}]", shape.join(", ")),
            ]
        });
        table(f, &fields.collect::<Vec<_>>(), "  ")
    }
}

/// Rows of name, default, kind and description, from a JSON Schema; fields of objects by their path.
fn parameters(schema: &Value, path: &str, rows: &mut Vec<[String; 4]>) {
    let none = Map::new();
    let fields = schema["properties"].as_object().unwrap_or(&none);
    for (name, field) in fields {
        let path = format!("{path}{name}");
        if field["properties"].is_object() {
            parameters(field, &format!("{path}."), rows);
            continue;
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = match field["enum"].as_array() {
            Some(values) => values.iter().map(plain).collect::<Vec<_>>().join(" | "),
            None => text(&field["type"]),
        };
        let default = field.get("default").map_or(String::new(), plain);
        rows.push([path, default, kind, text(&field["description"])]);
    }
    if path.is_empty() && rows.is_empty() {
        rows.push(["none".into(), String::new(), String::new(), String::new()]);
    }
}

/// A JSON value as a person writes it.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), String::from)
}

/// Writes rows with their columns under one another; the last is as long as it is.
fn table<const N: usize>(
    f: &mut fmt::Formatter<'_>,
    rows: &[[String; N]],
    indent: &str,
) -> fmt::Result {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; N] =
        std::array::from_fn(|column| width(column).unwrap_or_default().min(40));
    for row in rows {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        writeln!(
            f,
            "{indent}{}",
            cells.collect::<Vec<_>>().join("  ").trim_end()
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, params: &str) -> String {
        format!("{:#}", describe_environment(name, params).unwrap_err())
    }

    #[test]
    fn a_name_that_is_not_there_is_told_what_is() {
        let sentence = refused("overcoked", "");
        assert!(
            sentence.contains("did you mean `overcooked`?"),
            "{sentence}"
        );
        assert!(!refused("chess", "").contains("did you mean"));
        assert!(refused("my_env.wasm", "").contains("there is no file my_env.wasm"));
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("text.wasm");
        std::fs::write(&file, "text").unwrap();
        let sentence = refused(&file.to_string_lossy(), "");
        assert!(
            sentence.contains("text.wasm: this is no WebAssembly module"),
            "{sentence}"
        );
    }

    #[test]
    fn parameters_that_are_refused_are_named() {
        let sentence = refused("overcooked", r#"{"horizon":-1}"#);
        assert!(sentence.contains("horizon: "), "{sentence}");
    }

    #[test]
    fn every_environment_is_listed_and_shown() {
        let listed = list().unwrap();
        assert_eq!(listed.environments.len(), envs::IDS.len());
        for line in &listed.environments {
            let shown = describe_environment(&line.id, "").unwrap();
            assert_eq!(shown.spec.observation_len(), line.observation);
            let text = shown.to_string();
            assert!(
                text.contains("horizon") && text.contains("Observation of a seat"),
                "{text}"
            );
        }
        assert!(listed.to_string().contains("overcooked"));
    }
}
