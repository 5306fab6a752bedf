//! The faults of a rehearsal: their scripts, and the session that each script is given to.

use std::fmt;
use std::str::FromStr;

use protocol::control::StageView;
use serde::Serialize;
use study::assign::Rng;
use study::{StageKind, Study};

/// How often a page is reloaded at most.
const RELOADS: u32 = 4;

/// The script of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "&'static str")]
pub enum Fault {
    /// Does not agree to the consent.
    Refuse,
    /// Gives a wrong answer in every attempt at a quiz.
    FailQuiz,
    /// Closes the page in a lobby and never comes back.
    DropLobby,
    /// Closes the page in an episode and never comes back.
    DropPlay,
    /// Loses the page or the network in an episode, and returns.
    Return,
    /// Reloads the page anywhere, up to four times.
    Reload,
    /// Closes the page in a survey and never comes back.
    CloseSurvey,
    /// Opens the link again in a second tab.
    SecondTab,
    /// Datagrams of its page arrive late, or not at all.
    SlowNetwork,
    /// Withdraws.
    Withdraw,
    /// Stops doing anything, and closes the page long after that.
    Idle,
    /// The page sends messages that no real page sends.
    Malformed,
    /// The server is killed and started again.
    Server,
}

use Fault::*;

impl Fault {
    /// Every script, its name, and a description.
    pub const ALL: [(Self, &'static str, &'static str); 13] = [
        (Refuse, "refuse", "does not agree to the consent"),
        (FailQuiz, "fail-quiz", "is wrong in every attempt at a quiz"),
        (
            DropLobby,
            "drop-lobby",
            "closes the page in a lobby for good",
        ),
        (
            DropPlay,
            "drop-play",
            "closes the page in an episode for good",
        ),
        (
            Return,
            "return",
            "loses page or network in an episode, and comes back",
        ),
        (
            Reload,
            "reload",
            "reloads the page anywhere, up to four times",
        ),
        (
            CloseSurvey,
            "close-survey",
            "closes the page in a survey for good",
        ),
        (
            SecondTab,
            "second-tab",
            "opens the link again in a second tab",
        ),
        (
            SlowNetwork,
            "slow-network",
            "its datagrams come late, or not at all",
        ),
        (Withdraw, "withdraw", "withdraws"),
        (
            Idle,
            "idle",
            "stops doing anything, and closes the page long after",
        ),
        (Malformed, "malformed", "its page sends what no page sends"),
        (Server, "server", "the server is killed, and started again"),
    ];

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Returns true if the study has a stage at which it can happen.
    fn happens_in(self, study: &Study) -> bool {
        let any = |is: fn(&StageKind) -> bool| study.timeline.iter().any(|stage| is(&stage.kind));
        match self {
            Refuse => any(|kind| matches!(kind, StageKind::Consent(_))),
            FailQuiz => any(|kind| matches!(kind, StageKind::Quiz(_))),
            DropLobby => any(|kind| matches!(kind, StageKind::Lobby(_))),
            DropPlay | Return => any(|kind| matches!(kind, StageKind::Env(_))),
            SlowNetwork => any(|kind| matches!(kind, StageKind::Env(env) if env.people() > 1)),
            CloseSurvey => any(|kind| matches!(kind, StageKind::Survey(_))),
            Reload | SecondTab | Withdraw | Idle | Malformed | Server => true,
        }
    }

    /// Chance, of 100, that it happens at a stage that is shown, after `mishaps` earlier faults of the same person.
    pub(super) fn chance_at(
        self,
        view: &StageView,
        id: &str,
        study: &Study,
        mishaps: u32,
    ) -> usize {
        match (self, view) {
            (_, StageView::End { .. } | StageView::Env) => 0,
            (Reload, _) if mishaps < RELOADS => 50,
            _ if mishaps > 0 => 0,
            (DropLobby, StageView::Lobby { .. }) | (CloseSurvey, StageView::Survey { .. }) => {
                this_or_later(id, study)
            }
            (Withdraw, _) => 30,
            (Idle, StageView::Lobby { .. }) => 0,
            (Idle | SecondTab | Malformed, _) => 40,
            _ => 0,
        }
    }

    /// The same in an episode.
    pub(super) fn chance_in_play(self, id: &str, study: &Study, mishaps: u32) -> usize {
        match self {
            Reload if mishaps < RELOADS => 50,
            _ if mishaps > 0 => 0,
            DropPlay | Return => this_or_later(id, study),
            Withdraw => 30,
            SecondTab | Malformed => 40,
            _ => 0,
        }
    }
}

/// Chance, of 100, that an event of one kind of stage happens at this one; certain at the last stage of that kind.
fn this_or_later(id: &str, study: &Study) -> usize {
    let stages = &study.timeline;
    let here = stages.iter().position(|stage| stage.id == id);
    let mut after = stages.iter().skip(here.map_or(0, |here| here + 1));
    let kind = here.map(|here| stages[here].kind.name());
    match after.any(|stage| Some(stage.kind.name()) == kind) {
        true => 50,
        false => 100,
    }
}

impl From<Fault> for &'static str {
    fn from(fault: Fault) -> Self {
        fault.name()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The scripts that a rehearsal has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = Fault::ALL.map(|(fault, ..)| fault);
        let named = |name: &str| {
            let found = all.into_iter().find(|fault| fault.name() == name);
            let names = all.map(Fault::name).join(", ");
            found.ok_or_else(|| {
                format!("there is no fault `{name}`; write `none`, `all`, or some of: {names}")
            })
        };
        match text {
            "none" => Ok(Self::default()),
            "all" => Ok(Self(all.into())),
            names => names.split(',').map(|name| named(name.trim())).collect(),
        }
    }
}

impl FromIterator<Fault> for Faults {
    fn from_iter<I: IntoIterator<Item = Fault>>(faults: I) -> Self {
        let mut faults: Vec<Fault> = faults.into_iter().collect();
        faults.sort();
        faults.dedup();
        Self(faults)
    }
}

impl Faults {
    /// Returns true if a script is among them.
    pub fn includes_fault(&self, fault: Fault) -> bool {
        self.0.contains(&fault)
    }

    /// The scripts of sessions that can happen in a study.
    pub fn list_possible(&self, study: &Study) -> Vec<Fault> {
        let of_sessions = self.0.iter().copied().filter(|fault| *fault != Server);
        of_sessions
            .filter(|fault| fault.happens_in(study))
            .collect()
    }

    /// The script of each of `sessions` sessions: half of them have none, and each script is given to equally many of
    /// the others, in random order.
    pub fn draw_scripts(
        &self,
        study: &Study,
        sessions: usize,
        rng: &mut Rng,
    ) -> Vec<Option<Fault>> {
        let possible = self.list_possible(study);
        let mut scripts = vec![None; sessions];
        if possible.is_empty() {
            return scripts;
        }
        let faulty = sessions.div_ceil(2);
        for (at, script) in scripts.iter_mut().take(faulty).enumerate() {
            *script = Some(possible[at % possible.len()]);
        }
        rng.shuffle(&mut scripts);
        scripts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named_and_a_wrong_name_is_told_with_the_right_ones() {
        for (at, (fault, name, _)) in Fault::ALL.into_iter().enumerate() {
            assert_eq!((fault as usize, fault.name()), (at, name));
        }
        let faults: Faults = "reload, server,reload".parse().unwrap();
        assert_eq!(faults, Faults(vec![Reload, Server]));
        assert_eq!("none".parse(), Ok(Faults::default()));
        assert_eq!("all".parse::<Faults>().unwrap().0.len(), Fault::ALL.len());
        let error = "relod".parse::<Faults>().unwrap_err();
        assert!(
            error.contains("`relod`") && error.contains("second-tab"),
            "{error}"
        );
    }
}
