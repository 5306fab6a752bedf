//! The options of a command: switches, values, and at most one plain argument.

use std::collections::BTreeMap;
use std::str::FromStr;

use anyhow::{Context as _, Result, anyhow};
use lexopt::prelude::*;

/// The options on the command line.
#[derive(Debug, Default)]
pub(crate) struct Options {
    switches: Vec<&'static str>,
    values: BTreeMap<&'static str, String>,
    /// The plain argument.
    pub(crate) argument: Option<String>,
}

/// The options that a command takes. Names are without their dashes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Takes {
    /// Its help text.
    pub(crate) help: &'static str,
    /// Options that are there or not.
    pub(crate) switches: &'static [&'static str],
    /// Options that have a value.
    pub(crate) values: &'static [&'static str],
    /// True if it has a plain argument.
    pub(crate) argument: bool,
}

impl Options {
    /// Reads the rest of the command line; `None` if only help was wanted, which is then given.
    ///
    /// # Errors
    /// An option that the command does not take.
    pub(crate) fn parse(mut parser: lexopt::Parser, takes: Takes) -> Result<Option<Self>> {
        let mut options = Self::default();
        while let Some(arg) = parser.next()? {
            match arg {
                Long("help") | Short('h') => {
                    print_help(takes.help)?;
                    return Ok(None);
                }
                Long(name) => {
                    let known =
                        |names: &[&'static str]| names.iter().copied().find(|known| *known == name);
                    if let Some(switch) = known(takes.switches) {
                        options.switches.push(switch);
                    } else if let Some(value) = known(takes.values) {
                        options.values.insert(value, text(parser.value()?)?);
                    } else {
                        return Err(anyhow!(
                            "there is no option --{name} here; --help lists them"
                        ));
                    }
                }
                Value(value) if takes.argument && options.argument.is_none() => {
                    options.argument = Some(text(value)?)
                }
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(Some(options))
    }

    /// True if a switch was given.
    pub(crate) fn has(&self, switch: &str) -> bool {
        self.switches.contains(&switch)
    }

    /// An option as it was given.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// An option as a number.
    ///
    /// # Errors
    /// Something else was given.
    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>> {
        let given = self.value(name);
        given
            .map(|text| {
                text.parse()
                    .ok()
                    .with_context(|| format!("--{name} {text} is not a number here"))
            })
            .transpose()
    }
}

/// Prints a help text.
pub(crate) fn print_help(text: &str) -> Result<()> {
    println!("{text}");
    Ok(())
}

fn text(value: std::ffi::OsString) -> Result<String> {
    value
        .into_string()
        .map_err(|value| anyhow!("{} is not UTF-8", value.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAKES: Takes = Takes {
        help: "",
        switches: &["json"],
        values: &["port"],
        argument: true,
    };

    fn parse(line: &[&str]) -> Result<Options> {
        Ok(Options::parse(lexopt::Parser::from_args(line), TAKES)?.unwrap())
    }

    #[test]
    fn switches_values_and_the_argument_are_told_apart() {
        let options = parse(&["folder", "--json", "--port=8081"]).unwrap();
        assert!(options.has("json"));
        assert_eq!(options.number::<u16>("port").unwrap(), Some(8081));
        assert_eq!(options.argument.as_deref(), Some("folder"));
    }

    #[test]
    fn an_unknown_option_is_named() {
        assert!(parse(&["--jsn"]).unwrap_err().to_string().contains("--jsn"));
    }

    #[test]
    fn a_value_out_of_range_is_refused() {
        assert!(
            parse(&["--port", "70000"])
                .unwrap()
                .number::<u16>("port")
                .is_err()
        );
    }
}
