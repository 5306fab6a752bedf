//! The hand-written counter, and how to break it.

use module::{Code, Module, ModuleError, ModuleLimits};

/// The facts of the counter.
pub(crate) const FACTS: &str = r#"{"spec":{"id":"counter","version":"1.0.0","title":"Counter","seats":1,
"actions":[{"name":"wait","momentary":false,"keys":[]},{"name":"count","momentary":true,"keys":["Space"]}],"noop":0,
"observation":[{"name":"sum","shape":[1]}],"tick_hz":10,"horizon":20,"events":[]},"params_schema":{},"sprites":[]}"#;

/// The counter with other facts, and with other functions in place of its own: name, and the text after the export.
pub(crate) fn counter(facts: &str, functions: &[(&str, &str)]) -> Vec<u8> {
    let escaped: String = facts.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    let mut text = include_str!("counter.wat")
        .replace("FACTS", &escaped)
        .replace("LENGTH", &facts.len().to_string());
    for (name, function) in functions {
        let export = format!("(func (export \"{name}\")");
        let start = text.find(&export).expect("the counter has this function");
        let end = start + text[start..].find("\n\n").expect("a blank line ends it");
        let function = match function.is_empty() {
            true => String::new(),
            false => format!("{export} {function})"),
        };
        text.replace_range(start..end, &function);
    }
    wat::parse_str(text).expect("the text form is right")
}

/// Opens the counter with other functions.
pub(crate) fn broken(functions: &[(&str, &str)]) -> Result<Module, ModuleError> {
    module::load(&counter(FACTS, functions), "", ModuleLimits::default())
}

/// Compiles the sound counter.
pub(crate) fn sound() -> Code {
    Code::compile(&counter(FACTS, &[]), ModuleLimits::default()).expect("the counter is a module")
}
