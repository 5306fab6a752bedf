//! The Python scripts that record a trace, for each package.

/// The packages with a recipe.
pub const PACKAGES: [&str; 8] = [
    "coplay",
    "jaxmarl",
    "jaxmarl-v2",
    "overcooked-ai",
    "overcooked",
    "cec",
    "neurips2019",
    "zsc-eval",
];

/// The place of the researcher's policy.
const POLICY: &str = include_str!("recipes/policy.py");
/// The loop over episodes and steps, and the file.
const RECORD: &str = include_str!("recipes/record.py");

/// The script for a package; `None` if there is no recipe for it.
pub fn recipe(package: &str) -> Option<String> {
    let game = match package {
        "coplay" => include_str!("recipes/coplay.py"),
        "jaxmarl" => include_str!("recipes/jaxmarl.py"),
        "jaxmarl-v2" => include_str!("recipes/jaxmarl_v2.py"),
        "overcooked-ai" => include_str!("recipes/overcooked_ai.py"),
        "overcooked" => include_str!("recipes/overcooked.py"),
        "cec" => include_str!("recipes/cec.py"),
        "neurips2019" => include_str!("recipes/neurips2019.py"),
        "zsc-eval" => include_str!("recipes/zsc_eval.py"),
        _ => return None,
    };
    Some([game, POLICY, RECORD].concat())
}
