//! The place in the file, and the words, of the report that an environment cannot be opened.

use super::HostCheck;
use crate::host::EnvFault;
use crate::problem::make_hint;
use crate::stage::env::Env;
use crate::timeline::fill;
use crate::timeline::tree::Bindings;
use crate::yaml::join;

impl HostCheck<'_> {
    /// Reports why an environment cannot be opened: that of a stage, by its index, or of a clip in it. Both have a path.
    pub(super) fn report_env_fault(
        &self,
        (index, path): (u16, &str),
        env: &Env,
        fault: &EnvFault,
        bound: &Bindings,
    ) {
        match fault {
            EnvFault::Unknown { known } => {
                let ids: Vec<&str> = known.iter().map(String::as_str).collect();
                let named = format!("{}@{}", env.env, env.version);
                self.fault(
                    &format!("{path}.env"),
                    format!(
                        "unknown environment `{}`; {}",
                        env.env,
                        make_hint(&named, &ids)
                    ),
                );
            }
            EnvFault::Version { found } => {
                let message = format!(
                    "version {} of `{}` is not here; write `{}@{found}`, after a look at what changed",
                    env.version, env.env, env.env
                );
                self.fault(&format!("{path}.env"), message);
            }
            EnvFault::Python { reason } => {
                self.fault(&format!("{path}.env"), plain(reason));
            }
            EnvFault::Module { reason } => {
                self.fault(&format!("{path}.module"), reason.clone());
            }
            EnvFault::Config { field, reason } => {
                self.report_config_fault((index, path), env, [field, reason], bound);
            }
        }
    }

    /// Reports a parameter that is refused: at the value that a name brought there, if it is one alone, else in the
    /// config.
    fn report_config_fault(
        &self,
        (index, path): (u16, &str),
        env: &Env,
        [field, reason]: [&str; 2],
        bound: &Bindings,
    ) {
        let id = self.stage(index).map_or("", |stage| &stage.id);
        let reason = &plain(reason);
        let path = join(path, "config");
        let world = env.world.as_ref();
        let parameter = field.split(['.', '[']).next().unwrap_or_default();
        if let Some(world) = world.filter(|_| !self.source.has(&join(&path, parameter))) {
            return self.report.add_problem(world.make_problem(field, reason));
        }
        let path = match field.is_empty() {
            true => path,
            false => join(&path, field),
        };
        if let Some(value) = self.brought(index, field, bound) {
            let message = format!("{reason}; it is `config.{field}` of `{id}`");
            return self.fault(&value, message);
        }
        let levels = bound
            .iter()
            .map(|(name, level)| format!("`{name}` is `{}`", level.name));
        let levels: Vec<String> = levels.collect();
        let reason = match levels.is_empty() {
            true => reason.to_owned(),
            false => format!("{reason} (where {})", levels.join(" and ")),
        };
        self.fault(&path, reason);
    }

    /// The path of the value that a name brings into a parameter, if one name alone does.
    fn brought(&self, index: u16, field: &str, bound: &Bindings) -> Option<String> {
        let env = self.env(index)?;
        let at = |path: &str| {
            let inside = field.strip_prefix(path);
            inside.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let references = fill::list_references(&env.config, "").into_iter();
        let mut names = references
            .filter(|(path, _)| at(path))
            .flat_map(|(_, found)| found.unwrap_or_default());
        let (name, inner) = names.next().filter(|_| names.next().is_none())?;
        let level = bound.get(&name)?;
        let levels = self.scopes.get(&index)?.get(&name)?;
        let number = levels.iter().position(|other| other.name == level.name)?;
        let values = self.values_of(&self.paths[usize::from(index)], &name)?;
        let value = format!("{values}[{number}]");
        let parameter = inner.map(|inner| join(&value, &inner));
        Some(
            parameter
                .filter(|path| self.source.has(path))
                .unwrap_or(value),
        )
    }

    /// Returns the path of the values that a name can stand for at a stage: at a block around it, or in the design.
    fn values_of(&self, stage: &str, name: &str) -> Option<String> {
        let mut around = Some(stage);
        while let Some(path) = around {
            let values = format!("{path}.for_each.{name}");
            if self.source.has(&values) {
                return Some(values);
            }
            around = path.rsplit_once('.').map(|(outer, _)| outer);
        }
        let of = |kind: &str| format!("design.{kind}.{name}.levels");
        ["within", "between"]
            .map(of)
            .into_iter()
            .find(|path| self.source.has(path))
    }
}

/// The message of an environment about a value that it cannot read, in the words of the other messages.
fn plain(reason: &str) -> String {
    let parts = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|start| reason.strip_prefix(start)?.split_once(", expected "));
    let Some((found, wanted)) = parts else {
        return reason.to_owned();
    };
    let inner = |quote: char| Some(found.split_once(quote)?.1.rsplit_once(quote)?.0);
    let text = inner('"').filter(|text| text.parse::<f64>().is_ok());
    if let Some(number) = text.filter(|_| wanted.contains("number")) {
        return format!("expected {wanted}, found the text \"{number}\"; leave the quotes away");
    }
    let found = match found {
        "map" => "a block of keys".to_owned(),
        "sequence" => "a list".to_owned(),
        "null" => "nothing".to_owned(),
        found => format!("`{}`", inner('"').or(inner('`')).unwrap_or(found)),
    };
    let wanted = match wanted {
        "a string" => "text",
        "a boolean" => "true or false",
        "a map" => "a block of keys",
        "a sequence" => "a list",
        wanted => wanted,
    };
    format!("expected {wanted}, found {found}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_an_environment_cannot_read_are_told_in_plain_words() {
        for (said, told) in [
            (
                "invalid type: string \"sixty\", expected a whole number",
                "expected a whole number, found `sixty`",
            ),
            (
                "invalid type: string \"300\", expected a whole number",
                "expected a whole number, found the text \"300\"; leave the quotes away",
            ),
            (
                "invalid value: integer `256`, expected a whole number from 0 to 255",
                "expected a whole number from 0 to 255, found `256`",
            ),
            (
                "invalid type: map, expected a sequence",
                "expected a list, found a block of keys",
            ),
            (
                "unknown layout `moon`; did you mean `room`?",
                "unknown layout `moon`; did you mean `room`?",
            ),
        ] {
            assert_eq!(plain(said), told);
        }
    }
}
