//! The JSON Schema of the study file, as its readers describe it.

use std::path::Path;

use serde_json::Value;

use crate::folder::StudyFolder;
use crate::load;
use crate::read::Cursor;
use crate::shape::{self, Atlas};

/// The shapes that the readers of a study file take.
pub(crate) fn atlas() -> Atlas {
    let atlas = Atlas::new();
    let _ = load::read_parts(
        &StudyFolder::on_disk(Path::new("")),
        &Cursor::sketch(&atlas),
    );
    atlas
}

/// Returns the JSON Schema of a study file, for editors: its keys, their places, and their meanings.
pub fn schema() -> Value {
    shape::schema(&atlas())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemReport;
    use crate::yaml;

    const WORKED: &str = include_str!("../tests/folder/worked.yaml");

    /// Checks a value by the keywords that the schema has; any other is a fault of the test.
    fn check(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
        for (keyword, of) in schema.as_object().unwrap() {
            let good = match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" | "default" => true,
                "$ref" => {
                    let name = of.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                    return check(root, &root["$defs"][name], value);
                }
                "anyOf" => {
                    let ways = of.as_array().unwrap().iter();
                    let found: Vec<_> = ways.map(|way| check(root, way, value)).collect();
                    if found.iter().all(Result::is_err) {
                        return found
                            .into_iter()
                            .max_by_key(|way| way.as_ref().err().map(String::len))
                            .unwrap();
                    }
                    true
                }
                "allOf" => {
                    of.as_array()
                        .unwrap()
                        .iter()
                        .try_for_each(|way| check(root, way, value))?;
                    true
                }
                "type" => match of {
                    Value::Array(kinds) => kinds.iter().any(|kind| is(kind, value)),
                    kind => is(kind, value),
                },
                "properties" => {
                    for (key, own) in value.as_object().into_iter().flatten() {
                        if let Some(of) = of.get(key) {
                            check(root, of, own).map_err(|why| format!("{key}.{why}"))?;
                        }
                    }
                    true
                }
                "additionalProperties" => {
                    for (key, own) in value.as_object().into_iter().flatten() {
                        let known = schema
                            .get("properties")
                            .is_some_and(|known| known.get(key).is_some());
                        match of {
                            Value::Bool(_) if !known => return Err(format!("{key}: unknown")),
                            Value::Bool(_) => {}
                            of => check(root, of, own).map_err(|why| format!("{key}.{why}"))?,
                        }
                    }
                    true
                }
                "required" => of
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|key| value.get(key.as_str().unwrap()).is_some()),
                "items" => {
                    for (index, own) in value.as_array().into_iter().flatten().enumerate() {
                        check(root, of, own).map_err(|why| format!("[{index}].{why}"))?;
                    }
                    true
                }
                "minItems" => value
                    .as_array()
                    .is_none_or(|items| items.len() as u64 >= of.as_u64().unwrap()),
                "maxItems" => value
                    .as_array()
                    .is_none_or(|items| items.len() as u64 <= of.as_u64().unwrap()),
                "enum" => of.as_array().unwrap().contains(value),
                "const" => of == value,
                "minimum" => value
                    .as_f64()
                    .is_none_or(|number| number >= of.as_f64().unwrap()),
                "maximum" => value
                    .as_f64()
                    .is_none_or(|number| number <= of.as_f64().unwrap()),
                "maxLength" => value
                    .as_str()
                    .is_none_or(|text| text.chars().count() as u64 <= of.as_u64().unwrap()),
                "pattern" => {
                    assert_eq!(
                        of, "^[a-z][a-z0-9_-]{0,39}$",
                        "the one pattern that the test knows"
                    );
                    value.as_str().is_none_or(is_id)
                }
                other => panic!("the test does not know `{other}`"),
            };
            if !good {
                return Err(format!("{keyword} {of} of {value}"));
            }
        }
        Ok(())
    }

    fn is_id(text: &str) -> bool {
        let (letter, others) = (
            |c: char| c.is_ascii_lowercase(),
            |c: char| c.is_ascii_digit() || matches!(c, '_' | '-'),
        );
        text.starts_with(letter) && text.len() <= 40 && text.chars().all(|c| letter(c) || others(c))
    }

    fn is(kind: &Value, value: &Value) -> bool {
        match kind.as_str().unwrap() {
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "number" => value.is_number(),
            "integer" => value.is_i64(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("{other}"),
        }
    }

    /// A study file checked by the schema alone.
    fn validate(text: &str) -> Result<(), String> {
        let report = ProblemReport::new("study.yaml");
        let value = yaml::parse(text, &report).unwrap().json("", &report);
        let schema = schema();
        check(&schema, &schema, &value)
    }

    #[test]
    fn every_study_that_is_shown_fits_the_schema() {
        validate(WORKED).unwrap();
        validate(include_str!("../../examples/overcooked-dyad/study.yaml")).unwrap();
        let documents = include_str!("../../docs/study-file/first-study.md");
        let shown = documents
            .split("```yaml\n")
            .nth(1)
            .unwrap()
            .split("```")
            .next()
            .unwrap();
        validate(shown).unwrap();
    }

    #[test]
    fn what_the_reader_refuses_by_its_shape_does_not_fit_the_schema() {
        let faults = [
            ("format: 1\n", "format: 2\n"),
            ("  contact: lab@example.edu\n", ""),
            ("  currency: GBP", "  curency: GBP"),
            ("  base: 4.50", "  base: four"),
            ("do: approve", "do: aprove"),
            ("unit: group", "unit: groups"),
            ("type: consent", "type: consents"),
            ("file: consent.md", "files: consent.md"),
            ("    attempts: 2", "    attempts: two"),
            ("name: onions, ", ""),
            ("group_size: 2", "group_size: 17"),
            ("order: fifo", "order: lifo"),
            ("max_p2p_rtt_ms: 120", "max_p2p_rtt: 120"),
            ("on_timeout: ask", "on_timeout: asks"),
            ("seed: [group, layout]", "seed: group"),
            ("drop_s: 20", "drop_s: 0"),
            ("columns: [1, 2, 3, 4, 5, 6, 7]", "columns: []"),
            ("isAllRowRequired: true", "isAllRowsRequired: true"),
            ("use: flag", "use: exclude"),
            ("allow_withdraw: true", "allow_withdraw: maybe"),
        ];
        for (from, to) in faults {
            assert!(WORKED.contains(from), "{from}");
            let text = WORKED.replacen(from, to, 1);
            assert!(validate(&text).is_err(), "{from} → {to}");
        }
    }

    /// Every description that is missing, by its path.
    fn undocumented(schema: &Value, path: &str, found: &mut Vec<String>) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            for (key, own) in properties {
                if own.get("description").is_none() {
                    found.push(format!("{path}.{key}"));
                }
            }
        }
        match schema {
            Value::Object(map) => map
                .iter()
                .for_each(|(key, own)| undocumented(own, &format!("{path}.{key}"), found)),
            Value::Array(items) => items.iter().for_each(|own| undocumented(own, path, found)),
            _ => {}
        }
    }

    #[test]
    fn every_key_says_what_it_means() {
        let mut found = Vec::new();
        undocumented(&schema(), "", &mut found);
        assert_eq!(found, Vec::<String>::new());
    }
}
