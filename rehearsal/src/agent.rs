//! An agent that can play every episode of a study.

use std::collections::BTreeMap;

/// An agent.
#[derive(Debug)]
pub(super) struct Agent {
    /// Its name in the data.
    pub(super) name: String,
    /// The name under which its policy plays, by environment and parameters.
    pub(super) policies: BTreeMap<(String, String), String>,
}

impl Agent {
    /// The name under which its policy plays an environment with these parameters.
    pub(super) fn find_policy(&self, env: &str, params: &str) -> Option<&str> {
        let key = (env.to_owned(), params.to_owned());
        self.policies.get(&key).map(String::as_str)
    }
}
