//! Studies without a server: what the key `offline` of a study says, and why other studies cannot have it.
//!
//! Every page then runs the server's part only for its own participant, so nothing that needs others can be decided.

use serde::Serialize;

use crate::design::{Assign, Quota};
use crate::outcome::Outcome;
use crate::problem::Problem;
use crate::read::Cursor;
use crate::recruitment::Provider;
use crate::stage::StageKind;
use crate::stage::env::{Env, RunOn};
use crate::stage::players::Player;
use crate::study::Study;

/// The way in which a study without a server delivers its data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Offline {
    /// The address to which pages post the data at the end; `None` if participants get a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post: Option<String>,
}

/// Reads the key `offline`.
pub(crate) fn read(place: &Cursor<'_>) -> Option<Offline> {
    let mut fields = place.fields("the terms of a study without a server")?;
    let doc = "The address to which the page of a participant posts the data at the end, starting with `https://`. \
               Without it, participants save the data as a file.";
    let post = fields.key("post", doc).maybe(|place| address(&place));
    fields.done();
    Some(Offline { post: post? })
}

fn address(place: &Cursor<'_>) -> Option<String> {
    let url = place.text(500)?;
    let is_local = ["http://127.0.0.1", "http://localhost"]
        .iter()
        .any(|local| url.starts_with(local));
    let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic());
    let is_safe = !url.contains(['"', '\'', ';', ',', '<', '>']);
    if !place.may((url.starts_with("https://") || is_local) && is_plain && is_safe) {
        place.report_problem(format!(
            "`{url}` is not an address that pages can post to; write one that begins with `https://`, such as \
             `https://data.example.edu/my-study`"
        ));
        return None;
    }
    Some(url)
}

impl Study {
    /// The parts of the study that need a server, each with the reason and the way around it; empty for a study that can
    /// run without one.
    pub fn list_server_needs(&self) -> Vec<Problem> {
        let stages = (0..).zip(&self.timeline);
        let stages = stages.filter_map(|(index, stage)| {
            let why = find_stage_need(&stage.kind)?;
            Some(self.stage_problem(index, &why))
        });
        let mut needs: Vec<Problem> = stages.collect();
        needs.extend(self.list_design_needs());
        needs.extend(self.list_recruitment_needs());
        needs
    }

    fn list_design_needs(&self) -> Vec<Problem> {
        let mut needs = Vec::new();
        if self.design.quota != Quota::None {
            let why = "a study without a server cannot count participants, so it cannot have a quota; leave `quota` out, \
                       and stop handing the address out";
            needs.push(self.key_problem("design.quota", why));
        }
        if self.design.seed.is_some() {
            let why = "a study without a server does not know the order in which participants come, so with one `seed` \
                       all of them would draw the same; leave it out";
            needs.push(self.key_problem("design.seed", why));
        }
        for factor in &self.design.between {
            if factor.assign != Assign::Random {
                let why = format!(
                    "a study without a server cannot count how many participants have each level of `{}`; write \
                     `assign: random`, which draws for every participant on their own",
                    factor.name
                );
                needs.push(self.key_problem("design", &why));
            }
        }
        needs
    }

    fn list_recruitment_needs(&self) -> Vec<Problem> {
        let recruitment = &self.recruitment;
        let mut needs = Vec::new();
        if recruitment.provider == Provider::Mturk {
            let why = "a study without a server cannot hand work in at Mechanical Turk, which has to be told by a server; \
                       use `coplay serve`";
            needs.push(self.key_problem("recruitment.provider", why));
        }
        if recruitment.signature.is_some() {
            let why = "a study without a server cannot check signed links, as everybody could read the key; leave \
                       `signature` out";
            needs.push(self.key_problem("recruitment.signature", why));
        }
        let has_codes = matches!(
            recruitment.provider,
            Provider::Prolific | Provider::Parameters
        );
        let possible = self.outcomes();
        let lacks_code = |outcome: &&Outcome| {
            let way_out = recruitment.outcomes.get(*outcome);
            way_out.is_some_and(|way_out| way_out.code.is_none())
        };
        let lacking = possible.iter().filter(lacks_code).filter(|_| has_codes);
        let lacking: Vec<_> = lacking.map(|outcome| format!("`{outcome}`")).collect();
        if !lacking.is_empty() {
            let why = format!(
                "without a server, every page would draw another completion code; under `outcomes`, write the code that you \
                 give the recruiter (`code: …`) for {}",
                lacking.join(", ")
            );
            needs.push(self.key_problem("recruitment", &why));
        }
        needs
    }
}

/// The reason why a stage needs a server; `None` if it does not.
fn find_stage_need(kind: &StageKind) -> Option<String> {
    let why = match kind {
        StageKind::Lobby(_) => {
            "a lobby brings people together, which needs a server; without one, give the seats of the others to AI \
             partners (`players: [self, {policy: cook}]`) and leave the lobby out"
        }
        StageKind::Chat(_) => "a chat needs a server, as people write to each other; leave it out",
        StageKind::Env(env) => return find_env_need(env),
        StageKind::Watch(_) => "recordings are computed by a server; leave this stage out",
        StageKind::External(_) => {
            "a page of another site leads back through a server; put its questions into a survey, or lead there at the end"
        }
        _ => return None,
    };
    Some(why.to_owned())
}

fn find_env_need(env: &Env) -> Option<String> {
    if env.people() > 1 {
        return Some(format!(
            "{} people play this together, which needs a server; without one, give the seats of the others to AI partners, \
             as in `players: [self, {{policy: cook}}]`",
            env.people()
        ));
    }
    let has_model = env.players.iter().any(Player::has_language_model);
    if has_model || env.assistant.is_some() {
        return Some(
            "a language model is asked by a server, which has the key; use `coplay serve`, or name a partner without a \
             language model"
                .to_owned(),
        );
    }
    if env.run == RunOn::Host {
        return Some(
            "an environment with `run: host` is stepped by a server; write `run: page`".to_owned(),
        );
    }
    env.python.as_ref().map(|_| {
        "pages load the Python of an environment from a server; use an environment of Coplay, a grid world, or a module"
            .to_owned()
    })
}
