//! Partners that a study names once: how they are read, drawn and refused.

use std::collections::{BTreeMap, BTreeSet};

use study::assign::{self, Counts, Rng, Standing};
use study::design::Unit;
use study::stage::Player;
use study::{Assignment, Progress, StageKind, Study};

use crate::folder::load;

const HEAD: &str = "format: 1
study: {id: small, version: 1.0.0, title: Small, contact: lab@example.edu}
";

const PARTNERS: &str = "partners:
  sp_1: {policy: cook, disclose: false, algorithm: SP, training_seed: 1, checkpoint: last, shown_as: Blue, look: 3}
  sp_2: {policy: idle, disclose: false, algorithm: SP, training_seed: 2, delay_ticks: 4, noise: 0.05}
  sp_3: {policy: random, disclose: false}
  other: {policy: cook, disclose: false, shown_as: Red, look: 1}
  sp: {pool: [sp_1, sp_2, sp_3], shown_as: Green, look: 2}
";

const STUDY: &str = "design:
  between: {side: {levels: [0, 1]}}
  within: {partner: {levels: [sp, other], order: latin}}
timeline:
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, \"{{ partner }}\"]
    seat: \"{{ side }}\"
    for_each: partner
    repeat: 2
    config: {layout: cramped_room, appearance: {agents: [0, \"{{ partner.look }}\"]}}
  - {id: thanks, type: end, file: thanks.md}
";

fn study(name: &str) -> Study {
    load(name, &format!("{HEAD}{PARTNERS}{STUDY}")).expect("a good study")
}

/// The faults of a study, a line each, without the part that is good.
fn faults(name: &str, partners: &str, rest: &str) -> String {
    load(name, &format!("{HEAD}{partners}{rest}")).expect_err("a study with faults")
}

/// The name of the AI partner, its seat, and the member of the pool `sp`, at each visit.
fn played(study: &Study, assignment: &Assignment) -> Vec<(String, usize, Option<String>)> {
    let visits = study::timeline::make_route(study, assignment).into_iter();
    let of_visit = |visit: study::timeline::Visit<'_>| {
        let StageKind::Env(env) = &study.timeline[usize::from(visit.stage)].kind else {
            return None;
        };
        let seated = env.seat_players(&visit.bindings, &mut Rng::of(1, &[]));
        let seat = seated
            .iter()
            .position(|player| matches!(player, Player::Drawn(_)))?;
        let partner = seated[seat].ai_partner(&visit.bindings)?.origin.clone()?;
        let member = visit.bindings.get("sp").map(|level| level.name.clone());
        Some((partner.name, seat, member))
    };
    visits.filter_map(of_visit).collect()
}

fn assigned(study: &Study, number: u64, counts: &Counts) -> Assignment {
    let own =
        assign::assign(&study.design, Unit::Participant, 7, number, counts).expect("no quota");
    Assignment {
        own,
        groups: BTreeMap::new(),
    }
}

#[test]
fn levels_name_who_plays_and_where_everybody_sits() {
    let study = study("levels");
    let assignment = assigned(&study, 0, &Counts::default());
    let side: usize = assignment.own.levels["side"].parse().unwrap();
    let played = played(&study, &assignment);
    assert_eq!(played.len(), 4);
    let member = assignment.own.orders["sp"][0].clone();
    let names =
        |first: &str, second: &str| [first, first, second, second].map(str::to_owned).to_vec();
    let expected = match assignment.own.orders["partner"][0].as_str() {
        "sp" => names(&member, "other"),
        _ => names("other", &member),
    };
    let found: Vec<String> = played.iter().map(|(name, ..)| name.clone()).collect();
    assert_eq!(found, expected);
    assert!(
        played.iter().all(|(_, seat, _)| *seat == 1 - side),
        "{played:?}"
    );
    // A level that is a partner has what participants may see of it, and nothing else.
    let levels = &study.design.within[0].levels;
    assert_eq!(
        levels[0].value,
        serde_json::json!({ "name": "sp", "shown_as": "Green", "look": 2 })
    );
}

#[test]
fn the_rules_of_the_training_are_part_of_the_origin() {
    let partners = PARTNERS.replace(
        "checkpoint: last,",
        "checkpoint: last, rules: jaxmarl-0.2.0,",
    );
    let study = load("rules", &format!("{HEAD}{partners}{STUDY}")).expect("a good study");
    let StageKind::Env(env) = &study.timeline[0].kind else {
        panic!("the first stage is no env stage");
    };
    let Player::Drawn(drawn) = &env.players[1] else {
        panic!("the partner is drawn");
    };
    let rules = |name: &str| drawn.choices[name].origin.clone()?.training_rules;
    assert_eq!(rules("sp_1").as_deref(), Some("jaxmarl-0.2.0"));
    assert_eq!(rules("sp_2"), None);
}

#[test]
fn members_of_a_pool_are_balanced_over_completions_in_each_treatment() {
    let study = study("balance");
    let mut counts = Counts::default();
    let mut firsts = BTreeMap::<(String, String), u32>::new();
    for number in 0..24 {
        let own = assigned(&study, number, &counts).own;
        counts.add(&study.design, &own, Standing::Completed);
        let cell = (own.levels["side"].clone(), own.orders["sp"][0].clone());
        *firsts.entry(cell).or_default() += 1;
    }
    assert_eq!(firsts.len(), 6);
    assert!(firsts.values().all(|count| *count == 4), "{firsts:?}");
}

#[test]
fn a_pool_that_is_drawn_each_time_repeats_nobody_before_all_had_their_turn() {
    let each = PARTNERS.replace("sp_3],", "sp_3], draw: each_time,");
    let rest = STUDY.replace("repeat: 2", "repeat: 4");
    let study = load("each", &format!("{HEAD}{each}{rest}")).expect("a good study");
    let played = played(&study, &assigned(&study, 3, &Counts::default()));
    let members = played.iter().filter_map(|(_, _, member)| member.clone());
    let members: Vec<String> = members.collect();
    assert_eq!(members.len(), 4, "{played:?}");
    let first: BTreeSet<&String> = members[..3].iter().collect();
    assert_eq!(first.len(), 3, "{members:?}");
    assert_eq!(members[0], members[3]);
}

#[test]
fn factors_have_units_of_their_own() {
    let rest = "design:
  unit: group
  between: {side: {levels: [0, 1], unit: participant}}
  within: {layout: {levels: [cramped_room, coordination_ring], order: latin}}
timeline:
  - {id: alone, type: env, env: overcooked@2.0.0, players: [self, sp], seat: \"{{ side }}\", config: {layout: cramped_room}}
  - {id: again, type: env, env: overcooked@2.0.0, players: [self, other], config: {layout: cramped_room}}
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 30, on_timeout: leave, match: {same: []}}
  - {id: play, type: env, env: overcooked@2.0.0, players: [self, partner], for_each: layout, config: {layout: \"{{ layout }}\"}}
  - {id: thanks, type: end, file: thanks.md}
";
    let study = load("units", &format!("{HEAD}{PARTNERS}{rest}")).expect("a good study");
    let own = assigned(&study, 0, &Counts::default()).own;
    assert_eq!(own.levels.keys().collect::<Vec<_>>(), ["side"]);
    assert_eq!(own.orders.keys().collect::<Vec<_>>(), ["sp"]);
    let group = assign::assign(&study.design, Unit::Group, 7, 0, &Counts::default()).unwrap();
    assert!(group.levels.is_empty());
    assert_eq!(group.orders.keys().collect::<Vec<_>>(), ["layout"]);
    let mut both = Assignment {
        own,
        groups: BTreeMap::new(),
    };
    both.groups.insert(2, group.clone());
    let route = study::timeline::make_route(&study, &both);
    let played = route.iter().filter(|visit| visit.stage == 3);
    let layouts = played.map(|visit| visit.bindings["layout"].name.clone());
    assert_eq!(layouts.collect::<Vec<_>>(), group.orders["layout"]);
    let refused = rest
        .replace("for_each: layout", "for_each: layout, repeat: 1")
        .replace("{id: alone, ", "{id: alone, for_each: layout, ");
    assert!(
        faults("units_refused", PARTNERS, &refused).contains("no lobby comes before this place")
    );
}

const WAITING: &str = "design:
  between: {partner: {levels: [human, sp]}}
timeline:
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 60, on_timeout: leave, partner: \"{{ partner }}\", simulated_wait_s: [8, 30]}
  - {id: play, type: env, env: overcooked@2.0.0, players: [self, partner], config: {layout: cramped_room}}
  - {id: debrief, type: debrief, file: how.md, reveals: [lobby]}
  - {id: thanks, type: end, file: thanks.md}
";

fn with_person() -> String {
    let human = "  human: {policy: person, shown_as: Blue}\n";
    let pool = PARTNERS.replace(
        "  other: {policy: cook, disclose: false, shown_as: Red, look: 1}\n",
        "",
    );
    format!("{pool}{human}")
}

#[test]
fn a_person_is_a_level_for_whom_one_waits_in_the_same_lobby() {
    let study = load("person", &format!("{HEAD}{}{WAITING}", with_person())).expect("a good study");
    let lobby = study.lobby(0).unwrap();
    assert_eq!(
        lobby.matching.sharing.shared,
        BTreeSet::from(["partner".to_owned()])
    );
    let awaited = lobby.partner.as_ref().unwrap();
    for number in 0..6 {
        let assignment = assigned(&study, number, &Counts::default());
        let progress = Progress::new(&study, assignment.own.clone());
        let found = awaited.ai_partner(&progress.bindings(&study));
        let found = found
            .and_then(|partner| partner.origin.as_ref())
            .map(|it| &it.name);
        match assignment.own.levels["partner"].as_str() {
            "human" => assert_eq!(found, None),
            _ => assert_eq!(found, Some(&assignment.own.orders["sp"][0])),
        }
    }
}

#[test]
fn a_simulated_waiting_room_must_be_revealed_and_must_not_disclose() {
    let told = |name: &str, partners: &str, rest: &str| faults(name, partners, rest);
    let person = with_person();
    let silent = WAITING.replace(", reveals: [lobby]", "");
    assert_eq!(
        told("silent", &person, &silent),
        "study.yaml:12:105: timeline[0].simulated_wait_s: participants wait here for nobody, and no debriefing after it says \
         so; tell them in the text of a `debrief` stage, and write there `reveals: [lobby]`"
    );
    let open = person.replace("random, disclose: false", "random");
    assert!(told("open", &open, WAITING).contains("write `disclose: false` at `partners.sp_3`"));
    let timeless = WAITING.replace(", simulated_wait_s: [8, 30]", "");
    let text = told("timeless", &person, &timeless);
    assert!(
        text.contains("it is not said after how long")
            && text.contains("no lobby `lobby` with `simulated_wait_s`"),
        "{text}"
    );
    let long = WAITING.replace("[8, 30]", "[8, 60]");
    assert!(told("long", &person, &long).contains("waits longer than people do"));
    let turned = WAITING.replace("[8, 30]", "[30, 8]");
    assert!(told("turned", &person, &turned).contains("write `[8, 30]`"));
}

#[test]
fn a_fault_of_a_partner_is_told_once() {
    for (name, partners) in [
        ("gone", PARTNERS.replace("sp_2, sp_3]", "sp_2, sp_3, sp_4]")),
        ("bare", PARTNERS.replace("policy: random, ", "")),
    ] {
        let direct = STUDY.replace("\"{{ partner }}\"", "sp");
        for rest in [STUDY, &direct] {
            let found = faults(name, &partners, rest);
            let told = found.lines().filter(|line| line.contains("study.yaml:"));
            assert_eq!(told.count(), 1, "{found}");
        }
    }
}

#[test]
fn what_no_partner_can_be_is_refused_with_its_place_and_a_fix() {
    let good = PARTNERS.to_owned();
    for (name, partners, rest, wanted) in [
        (
            "unknown",
            good.clone(),
            STUDY.replace("levels: [sp, other]", "levels: [sp, othr]"),
            "timeline[0].players[1]: `{{ partner }}` can come to `othr`, which is no partner; did you mean `other`?",
        ),
        (
            "member",
            good.replace("sp_2, sp_3]", "sp_2, sp_4]"),
            STUDY.to_owned(),
            "partners.sp.pool[2]: unknown partner `sp_4`",
        ),
        (
            "twice",
            good.replace("sp_2, sp_3]", "sp_2, sp_2]"),
            STUDY.to_owned(),
            "partners.sp.pool[2]: `sp_2` is in this pool twice",
        ),
        (
            "both",
            good.replace("{pool:", "{policy: cook, pool:"),
            STUDY.to_owned(),
            "partners.sp.pool: stands beside `policy`",
        ),
        (
            "drawn",
            good.replace("look: 1}", "look: 1, draw: once}"),
            STUDY.to_owned(),
            "partners.other.draw: only for a pool",
        ),
        (
            "unused",
            format!("{good}  idler: {{policy: idle}}\n"),
            STUDY.to_owned(),
            "partners.idler: never used",
        ),
        (
            "factor",
            good.replace("  sp: {pool", "  side: {pool"),
            STUDY.replace("[sp, other]", "[side, other]"),
            "partners.side: `side` is also a factor of the design",
        ),
        (
            "none",
            good.replace("policy: random, ", ""),
            STUDY.to_owned(),
            "partners.sp_3.policy: missing; write for example `policy: agent.onnx`",
        ),
        (
            "noise",
            good.replace("noise: 0.05", "noise: 5"),
            STUDY.to_owned(),
            "partners.sp_2.noise: expected a number from 0 to 1",
        ),
        (
            "warm",
            good.replace("policy: random,", "policy: random, temperature: 1,"),
            STUDY.to_owned(),
            "partners.sp_3.temperature: only for the file of a model",
        ),
        (
            "seat",
            good.clone(),
            STUDY.replace("side: {levels: [0, 1]}", "side: {levels: [1, 2]}"),
            "timeline[0].seat: can come to `2`, and there are 2 seats here",
        ),
        (
            "look",
            good.replace(", look: 1", ""),
            STUDY.to_owned(),
            "the level `other` of `partner` has no parameter `look`",
        ),
        (
            "pool_bot",
            good.clone(),
            STUDY.replace(
                "    repeat: 2\n",
                "    repeat: 2\n    on_disconnect: {then: bot, bot: sp}\n",
            ),
            "on_disconnect.bot: `sp` is a pool",
        ),
        (
            "named",
            good.clone(),
            STUDY.replace("\"{{ partner }}\"", "cookk"),
            "timeline[0].players[1]: unknown player `cookk`",
        ),
        (
            "braces",
            good.clone(),
            STUDY.replace("{{ partner }}", "{{ partne }}"),
            "timeline[0].players[1]: `partne` stands for nothing here; did you mean `partner`?",
        ),
        (
            "self",
            good.clone(),
            STUDY
                .replace(
                    "side: {levels: [0, 1]}",
                    "side: {levels: [{name: left, me: self}, {name: right, me: self}]}",
                )
                .replace(
                    "[self, \"{{ partner }}\"]",
                    "[\"{{ side.me }}\", \"{{ partner }}\"]",
                ),
            "A factor chooses the participant's seat by `seat: \"{{ side }}\"`",
        ),
    ] {
        let found = faults(name, &partners, &rest);
        assert!(found.contains(wanted), "{name}: {found}");
    }
    let human = format!("{good}  human: {{policy: person}}\n");
    let found = faults(
        "human",
        &human,
        &STUDY
            .replace("[sp, other]", "[human, sp, other]")
            .replace(", appearance: {agents: [0, \"{{ partner.look }}\"]}", ""),
    );
    assert!(found.contains("`human` is a person, and people come from a lobby; write `partner` here, and `partner: \"{{ partner }}\"` in a lobby"), "{found}");
}
