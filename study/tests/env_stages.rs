//! Env stages: what is checked against the environment, AI partners, absences and the network.

use study::disconnect::{IcePolicy, Meanwhile, OnDisconnect, Then};
use study::stage::{AiPartner, Env};
use study::{EnvFacts, EnvFault, Study};

use crate::folder::{Folder, Host, STUDY, opening};
use crate::progress::small;

fn facts() -> EnvFacts {
    EnvFacts {
        seats: 2,
        tick_hz: 10,
        horizon: 900,
        actions: ["move_up", "noop", "pick_up_or_drop"]
            .map(String::from)
            .into(),
        noop: 1,
        is_old: false,
        page_facts: None,
        is_secret: false,
    }
}

#[test]
fn environments_are_checked_at_the_lines_of_their_fields() {
    let folder = Folder::new("env");
    folder.write("study.yaml", STUDY);
    let good = folder.check(&opening(&|env| {
        assert_eq!(
            (env.env.as_str(), env.version.as_str()),
            ("overcooked", "2.0.0")
        );
        Ok(facts())
    }));
    let good = good.expect("a good environment");
    let study = study::load(&folder.path).expect("a good study");
    let study::StageKind::Env(env) = &study.timeline[2].kind else {
        panic!("not an env stage")
    };
    let keys = env.key_map(&good[&(2, env.config.to_string())]);
    assert_eq!(
        keys,
        [("KeyW", 0), ("ArrowUp", 0), ("Space", 2)].map(|(code, action)| (code.to_owned(), action))
    );

    let told = |result: Result<EnvFacts, EnvFault>| {
        let problems = folder.check(&opening(&|_| result.clone()));
        problems.expect_err("a fault").join("\n")
    };
    let config = |field: &str| EnvFault::Config {
        field: field.into(),
        reason: "no such kitchen".into(),
    };
    assert_eq!(
        told(Err(config("layout"))),
        "study.yaml:23:7: timeline[2].config.layout: no such kitchen"
    );
    assert_eq!(
        told(Err(config("rewards.delivery"))),
        "study.yaml:22:5: timeline[2].config.rewards.delivery: no such kitchen"
    );
    assert_eq!(
        told(Err(EnvFault::Unknown {
            known: vec!["overcooked@2.0.1".into()]
        })),
        "study.yaml:20:5: timeline[2].env: unknown environment `overcooked`; did you mean `overcooked@2.0.1`? \
         Known here: overcooked@2.0.1"
    );
    assert_eq!(
        told(Err(EnvFault::Version {
            found: "2.1.0".into()
        })),
        "study.yaml:20:5: timeline[2].env: version 2.0.0 of `overcooked` is not here; write `overcooked@2.1.0`, \
         after a look at what changed"
    );
    assert_eq!(
        told(Ok(EnvFacts {
            seats: 3,
            ..facts()
        })),
        "study.yaml:21:5: timeline[2].players: 2 players here, but `overcooked@2.0.0` with this config has 3 seats; \
         write one player a seat: `[self, partner, partner]`, in a group of 3"
    );
    assert_eq!(
        told(Ok(EnvFacts {
            seats: 1,
            ..facts()
        })),
        "study.yaml:21:5: timeline[2].players: 2 players here, but `overcooked@2.0.0` with this config has 1 seat; \
         write one player a seat: `[self]`"
    );
    assert_eq!(
        told(Ok(EnvFacts {
            actions: vec!["move_upp".into(), "pick_up_or_drop".into()],
            ..facts()
        })),
        "study.yaml:27:7: timeline[2].keys.move_up: the environment has no action `move_up`; \
         did you mean `move_upp`? Known here: move_upp, pick_up_or_drop"
    );
}

#[test]
fn a_module_of_an_older_interface_is_warned_of() {
    let folder = Folder::new("old");
    folder.write("study.yaml", STUDY);
    let warnings = |is_old: bool| {
        let facts = EnvFacts { is_old, ..facts() };
        let playable = folder.check(&opening(&|_| Ok(facts.clone())));
        let study = study::load(&folder.path).expect("a good study");
        study.list_warnings(&playable.expect("a good environment"))
    };
    let told: Vec<String> = warnings(true).iter().map(ToString::to_string).collect();
    let line =
        "study.yaml:20:5: timeline[2].env: the module has an older version of the interface: ";
    assert!(told.len() == 1 && told[0].starts_with(line), "{told:#?}");
    assert_eq!(warnings(false), []);
}

/// The problems of a study with the scripts of a host, and the scripts that can play.
fn check_policies(
    folder: &Folder,
    policies: &[&'static str],
    able: Option<&[&'static str]>,
) -> Result<(), Vec<String>> {
    let open = |env: &Env| {
        assert_eq!(env.env, "overcooked");
        Ok(facts())
    };
    let host = Host {
        open: &open,
        policies,
        able,
    };
    folder.check(&host).map(drop)
}

#[test]
fn policies_are_checked_at_their_line() {
    let folder = Folder::new("policies");
    folder.write("study.yaml", STUDY);
    let told = |known: &[&'static str], able| check_policies(&folder, known, able);
    assert!(told(&["cook", "idle"], Some(&["cook"])).is_ok());
    assert!(told(&["cook", "idle"], None).is_ok());
    let problems = told(&["cook", "idle", "random"], Some(&["idle", "random"]))
        .expect_err("a policy that cannot play");
    assert_eq!(
        problems[0],
        "study.yaml:17:11: timeline[1].bot.policy: `cook` cannot play `overcooked`, the environment that follows; \
         take one that can: idle, random"
    );
    let problems = told(&["cooks", "idle"], Some(&[])).expect_err("an unknown policy");
    assert_eq!(
        problems[0],
        "study.yaml:17:11: timeline[1].bot.policy: unknown policy `cook`; did you mean `cooks`? Known here: cooks, idle"
    );
}

/// The small study with other terms for a person who is gone.
fn with_terms(name: &str, terms: &str) -> (Study, Folder) {
    let folder = Folder::new(name);
    folder.write("study.yaml", STUDY.replace("{grace_s: 15}", terms));
    let study = study::load(&folder.path).expect("a good study");
    (study, folder)
}

fn terms(study: &Study) -> &OnDisconnect {
    match &study.timeline[2].kind {
        study::StageKind::Env(env) => &env.on_disconnect,
        _ => panic!("not an env stage"),
    }
}

#[test]
fn a_seat_is_taken_by_the_stages_own_partner_or_by_the_lobbys() {
    let bot = |policy: &str, disclose| {
        Some(AiPartner {
            policy: policy.into(),
            disclose,
            model: None,
            ..AiPartner::default()
        })
    };
    let usual = small("no-taker");
    assert_eq!(*terms(&usual), OnDisconnect::default());

    let (lobbys, folder) = with_terms("lobbys-taker", "{grace_s: 5, meanwhile: hold, then: bot}");
    let wanted = OnDisconnect {
        grace_s: 5,
        meanwhile: Meanwhile::Hold,
        first_half: Then::Bot,
        second_half: Then::Bot,
        bot: bot("cook", true),
    };
    assert_eq!(*terms(&lobbys), wanted);
    assert_eq!(check_policies(&folder, &["cook"], None), Ok(()));
    let problems = check_policies(&folder, &["idle"], None).expect_err("an unknown policy");
    assert_eq!(
        problems.len(),
        1,
        "it is told where it stands: {problems:#?}"
    );

    let halves = "{meanwhile: bot, first_half: technical, second_half: partner_left, bot: {policy: idle, disclose: false}}";
    let (own, folder) = with_terms("own-taker", halves);
    let wanted = OnDisconnect {
        grace_s: 15,
        meanwhile: Meanwhile::Bot,
        first_half: Then::Technical,
        second_half: Then::PartnerLeft,
        bot: bot("idle", false),
    };
    assert_eq!(*terms(&own), wanted);
    let problems = check_policies(&folder, &["cook", "idle"], Some(&["cook"]))
        .expect_err("a policy that cannot play");
    assert_eq!(
        problems,
        [
            "study.yaml:29:93: timeline[2].on_disconnect.bot.policy: `idle` cannot play `overcooked`, the environment \
             of this stage; take one that can: cook"
        ]
    );
}

#[test]
fn the_network_is_open_unless_the_study_closes_it() {
    let net = |name: &str, line: &str| {
        let folder = Folder::new(name);
        folder.write("study.yaml", format!("{STUDY}{line}"));
        study::load(&folder.path).expect("a good study")
    };
    let usual = net("net-usual", "").net;
    assert_eq!((usual.ice, usual.fallback), (IcePolicy::All, true));
    let relay = net("net-relay", "net: {ice: relay}\n").net;
    assert_eq!((relay.ice, relay.fallback), (IcePolicy::Relay, true));
    let strict = net("net-strict", "net: {ice: relay, fallback: none}\n");
    assert!(
        strict
            .canonical
            .contains(r#""net":{"fallback":"none","ice":"relay"}"#),
        "{}",
        strict.canonical
    );
    let needs = [usual, relay, strict.net].map(study::disconnect::Net::needs_turn);
    assert_eq!(needs, [false, false, true]);
}

#[test]
fn a_clip_shows_no_whole_world_with_secrets() {
    let folder = Folder::new("secret_clip");
    let watch = |view: &str| {
        let clip = format!(
            "  - {{id: again, type: watch, clips: [{{stage: play, view: {view}}}], rate: {{question: How was it?, low: bad, high: good}}}}\n"
        );
        let at = STUDY.find("  - id: thanks").expect("the last stage");
        let (before, after) = STUDY.split_at(at);
        folder.write("study.yaml", format!("{before}{clip}{after}"));
    };
    let told = |is_secret| {
        let facts = EnvFacts {
            is_secret,
            ..facts()
        };
        let problems = folder.check(&opening(&|_| Ok(facts.clone())));
        problems.err().unwrap_or_default().join("\n")
    };
    watch("own");
    assert_eq!(told(true), "");
    watch("whole");
    assert_eq!(told(false), "");
    let told = told(true);
    assert!(
        told.contains("clips[0].view: the environment of `play` keeps secrets"),
        "{told}"
    );
}
