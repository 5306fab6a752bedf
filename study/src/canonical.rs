//! Canonical JSON: keys sorted by code point, no white space; and its SHA-256.

use serde_json::Value;

/// The value as canonical JSON. Sorts by itself, whatever map `serde_json` was built with.
pub(crate) fn write_canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            out.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                write(&map[key], out);
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let value = serde_json::json!({"b": [{"z": 1, "a": "é\n"}], "a": null, "A": 1.5});
        assert_eq!(
            write_canonical(&value),
            r#"{"A":1.5,"a":null,"b":[{"a":"é\n","z":1}]}"#
        );
    }
}
