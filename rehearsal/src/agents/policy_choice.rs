//! An agent as the command line names it: `cook`, or `agent.onnx,temperature=0.5,name=warm`.

use std::path::Path;
use std::str::FromStr;

use dataset::agents::AgentSession;
use policy::Imperfection;

/// The ending of the file name of a model.
const MODEL: &str = ".onnx";

/// The keys that may follow the policy.
const KEYS: &str = "name, temperature, every_ticks, observation, action_mask, delay_ticks, noise";

/// An agent: its policy, and how it plays. The keys are those of an AI partner in the study file.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentPolicy {
    /// Its name in the data.
    pub name: String,
    /// The name of a policy of this build, or the file of an ONNX model.
    pub policy: String,
    /// The softmax temperature; without it, the action with the greatest value is taken.
    pub temperature: Option<f64>,
    /// Ticks from one decision to the next.
    pub every_ticks: u8,
    /// The encoding of the observation.
    pub observation: Option<String>,
    /// True if it chooses only among actions that may have an effect.
    pub action_mask: bool,
    /// The reaction delay, and the noise.
    pub imperfection: Imperfection,
}

impl AgentPolicy {
    /// Returns true if the policy is the file of a model.
    pub fn is_model(&self) -> bool {
        self.policy.ends_with(MODEL)
    }

    /// The facts of one of its sessions, for the data.
    pub(super) fn describe(&self, participant: &str, session: &str) -> AgentSession {
        AgentSession {
            participant_id: participant.to_owned(),
            session_id: session.to_owned(),
            agent: self.name.clone(),
            policy: file_name(&self.policy).to_owned(),
            temperature: self.temperature,
            every_ticks: self.every_ticks,
            observation: self.observation.clone().unwrap_or_default(),
            action_mask: self.action_mask,
            delay_ticks: self.imperfection.delay_ticks,
            noise: f64::from(self.imperfection.noise_permille) / 1_000.0,
        }
    }

    /// Enters the value of a key.
    fn enter(&mut self, key: &str, value: &str) -> Result<(), String> {
        let wrong = |kind: &str| format!("`{key}={value}`: must be {kind}");
        match key {
            "name" if !value.is_empty() => self.name = value.to_owned(),
            "name" => return Err(wrong("a text")),
            "temperature" => {
                let number = value.parse().ok().filter(|it| (0.01..=100.0).contains(it));
                self.temperature = Some(number.ok_or_else(|| wrong("a number from 0.01 to 100"))?);
            }
            "every_ticks" => {
                let ticks = value.parse().ok().filter(|it| (1..=60).contains(it));
                self.every_ticks = ticks.ok_or_else(|| wrong("a whole number from 1 to 60"))?;
            }
            "observation" => self.observation = Some(value.to_owned()),
            "action_mask" => {
                let flag = value.parse();
                self.action_mask = flag.map_err(|_| wrong("`true` or `false`"))?;
            }
            "delay_ticks" => {
                let ticks = value.parse().ok().filter(|it| *it <= 60);
                self.imperfection.delay_ticks =
                    ticks.ok_or_else(|| wrong("a whole number from 0 to 60"))?;
            }
            "noise" => {
                let share = value.parse().ok().filter(|it| (0.0..=1.0).contains(it));
                let share: f64 = share.ok_or_else(|| wrong("a number from 0 to 1"))?;
                self.imperfection.noise_permille = (share * 1_000.0).round() as u16;
            }
            _ => return Err(format!("there is no key `{key}`; there are {KEYS}")),
        }
        Ok(())
    }
}

impl FromStr for AgentPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',').map(str::trim);
        let policy = parts.next().unwrap_or_default();
        if policy.is_empty() {
            return Err(
                "write a policy first, such as `cook` or `agent.onnx,temperature=1`".into(),
            );
        }
        let mut agent = Self {
            name: file_name(policy).to_owned(),
            policy: policy.to_owned(),
            temperature: None,
            every_ticks: 1,
            observation: None,
            action_mask: false,
            imperfection: Imperfection::default(),
        };
        let mut of_models = None;
        for part in parts {
            let (key, value) = part.split_once('=').ok_or_else(|| {
                format!("`{part}` has no value; write it as `{part}=…`, or repeat --policy for another agent")
            })?;
            agent.enter(key, value)?;
            if ["temperature", "every_ticks", "observation", "action_mask"].contains(&key) {
                of_models = Some(key);
            }
        }
        match of_models.filter(|_| !agent.is_model()) {
            Some(key) => Err(format!(
                "`{key}` is only for the file of a model, and `{policy}` is a policy of this program; remove it"
            )),
            None => Ok(agent),
        }
    }
}

/// The last part of a path; a policy of the build as it is.
pub(super) fn file_name(policy: &str) -> &str {
    let name = Path::new(policy).file_name();
    name.and_then(|name| name.to_str()).unwrap_or(policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_written_as_its_policy_and_keys() {
        let agent: AgentPolicy = "models/fcp.onnx,temperature=0.5,every_ticks=2,noise=0.05"
            .parse()
            .unwrap();
        assert_eq!(
            (agent.name.as_str(), agent.policy.as_str()),
            ("fcp.onnx", "models/fcp.onnx")
        );
        assert_eq!((agent.temperature, agent.every_ticks), (Some(0.5), 2));
        assert_eq!(agent.imperfection.noise_permille, 50);
        let cook: AgentPolicy = "cook,name=slow,delay_ticks=3".parse().unwrap();
        assert_eq!(
            (cook.name.as_str(), cook.imperfection.delay_ticks),
            ("slow", 3)
        );
    }

    #[test]
    fn what_is_wrong_with_an_agent_is_said_with_a_fix() {
        for (text, part) in [
            ("", "write a policy first"),
            ("cook,temperature=1", "only for the file of a model"),
            ("a.onnx,temperature=0", "from 0.01 to 100"),
            ("a.onnx,every_ticks=61", "from 1 to 60"),
            ("a.onnx,warmth=1", "there are name, temperature"),
            ("cook,idle", "repeat --policy"),
            ("cook,noise=2", "from 0 to 1"),
            ("a.onnx,action_mask=yes", "`true` or `false`"),
        ] {
            let error = text.parse::<AgentPolicy>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
