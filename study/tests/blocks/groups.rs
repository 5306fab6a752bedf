//! Blocks in which people meet: the possible groups, and the draws of a group.

use super::*;

#[test]
fn only_people_with_equal_bindings_can_become_a_group() {
    let design = LAYOUTS
        .split("  between")
        .next()
        .expect("the unit")
        .to_owned()
        + "  within:\n    layout: {levels: [ring, room, hall], order: random}\n";
    let block = format!(
        "  - for_each: layout\n    block:\n{}",
        inside(&DYAD.replace("players", "config: {layout: '{{ layout }}'}, players"))
    );
    let study = good("company", &design, &block);
    let mut companies: BTreeMap<Company, BTreeSet<String>> = BTreeMap::new();
    for number in 0..30 {
        let own = drawn(&study, number).own;
        let at = Progress::new(&study, own.clone());
        companies
            .entry(at.describe_company(&study))
            .or_default()
            .insert(own.orders["layout"][0].clone());
    }
    assert_eq!(companies.len(), 3);
    assert!(
        companies.values().all(|layouts| layouts.len() == 1),
        "{companies:?}"
    );
}

/// Counts the rooms of a study with a factor of participants.
fn rooms(name: &str, lobby: &str, play: &str) -> usize {
    let design = "design:\n  between:\n    speed: {levels: [slow, fast]}\n";
    let timeline = DYAD
        .replace("on_timeout: wait", &format!("on_timeout: wait{lobby}"))
        .replace("[self, partner]", &format!("[self, partner]{play}"));
    let how = "  - {id: how, type: instructions, pages: [how.md], when: 'speed == \"slow\"'}\n";
    let study = good(name, design, &format!("{timeline}{how}"));
    let companies = (0..20).map(|number| {
        let own = drawn(&study, number).own;
        Progress::new(&study, own).describe_company(&study)
    });
    companies.collect::<BTreeSet<_>>().len()
}

#[test]
fn a_factor_of_participants_splits_the_waiting_room_only_if_the_study_says_so() {
    assert_eq!(rooms("same-none", "", ""), 1);
    assert_eq!(rooms("same-empty", ", match: {same: []}", ""), 1);
    assert_eq!(rooms("same", ", match: {same: [speed]}", ""), 2);
    // One stage cannot be played at two speeds.
    let play = ", config: {pace: '{{ speed }}'}";
    assert_eq!(rooms("same-config", "", play), 2);
}

#[test]
fn what_people_cannot_share_is_told() {
    let told = |name: &str, unit: &str, same: &str| {
        let design = format!(
            "design:\n  unit: {unit}\n  between:\n    speed: {{levels: [slow, fast]}}\n  within:\n    layout: {{levels: [ring, room]}}\n"
        );
        let lobby = format!("on_timeout: wait, match: {{same: [{same}]}}");
        let play = DYAD.replace("on_timeout: wait", &lobby);
        let play = play.replace(
            "[self, partner]",
            "[self, partner], config: {pace: '{{ speed }}'}",
        );
        let alone = "  - {id: alone, type: env, env: overcooked@2.0.0, players: [self], for_each: layout}\n";
        faults(name, &design, &format!("{play}{alone}")).join("\n")
    };
    let within = told("same-within", "participant", "layout");
    assert!(
        within.contains("match.same[0]: participants have no single level of `layout` here"),
        "{within}"
    );
    let group = told("same-group", "group", "speed");
    assert!(
        group.contains("`speed` is drawn for a group once it is made"),
        "{group}"
    );
    let unknown = told("same-unknown", "participant", "sped");
    assert!(
        unknown.contains("there is no factor `sped` of participants here; did you mean `speed`?"),
        "{unknown}"
    );
}

#[test]
fn a_group_draws_its_levels_when_it_is_made() {
    let design = "design:\n  unit: group\n  between:\n    speed: {levels: [slow, fast]}\n";
    let study = good(
        "group",
        design,
        &format!(
            "  - <a>\n{}",
            DYAD.replace("players", "config: {pace: '{{ speed }}'}, players")
        ),
    );
    let group =
        assign::assign(&study.design, Unit::Group, 11, 0, &Counts::default()).expect("no quota");
    let members = [0, 1].map(|number| {
        let mut at = Progress::new(&study, drawn(&study, number).own);
        assert!(at.bindings(&study).is_empty());
        at.handle(
            &study,
            study::ProgressEvent::StageDone {
                at: 0,
                answers: &[],
            },
        )
        .expect("a page");
        let length = at.count(&study);
        at.handle(
            &study,
            study::ProgressEvent::Matched {
                draw: &group,
                seat: Some(0),
            },
        )
        .expect("a group");
        assert_eq!(at.count(&study), length);
        at.bindings(&study)["speed"].name.clone()
    });
    assert_eq!(
        members,
        [group.levels["speed"].clone(), group.levels["speed"].clone()]
    );
}

#[test]
fn groups_always_come_from_a_lobby_before() {
    let one = |name: &str, timeline: &str| {
        let mut found = faults(name, "", timeline);
        assert_eq!(found.len(), 1, "{found:#?}");
        found.remove(0)
    };
    let lobby = DYAD.lines().next().expect("the lobby");
    assert_eq!(
        faults(
            "two-lobbies",
            "",
            &format!("{lobby}\n{}", DYAD.replace("id: lobby", "id: again"))
        ),
        [
            "4:5: timeline[0]: a lobby makes a group, but no stage that people play together follows it, up to the next lobby; \
             put an env stage with `partner` among its players, or a chat, after it, or remove the lobby"
        ]
    );
    let repeated = DYAD.replace("{id: play,", "{id: play, repeat: 2,");
    let after_a_page = format!(
        "{lobby}\n  - <a>\n{}\n",
        repeated.lines().nth(1).expect("the env stage")
    );
    good("repeated-env", "", &repeated);
    good("repeated-env-after-a-page", "", &after_a_page);
    let shuffled = format!("  - shuffle: true\n    block:\n{}", inside(DYAD));
    assert!(!faults("shuffled-lobby", "", &shuffled).is_empty());
    let guarded = DYAD.replace(
        "{id: lobby,",
        "{id: lobby, when: \"size(play.episodes) > 3\",",
    );
    assert_eq!(
        one("guarded-lobby", &guarded),
        "5:50: timeline[1].players: 2 people, but this stage can be reached without passing a lobby, so there would be no \
         group; put lobby and stage into one block that is shuffled, chosen or guarded as a whole"
    );
    let larger = DYAD.replace("group_size: 2", "group_size: 3");
    assert_eq!(
        one("larger-group", &larger),
        "4:30: timeline[0].group_size: groups of 3, but an env stage that follows has 2 people; make the two equal"
    );
    let whole = format!(
        "  - shuffle: true\n    block:\n      - <a>\n      - block:\n{}",
        inside(&inside(DYAD))
    );
    good("lobby-and-env-whole", "", &whole);
}

#[test]
fn a_lobby_has_as_many_rooms_as_the_people_who_reach_it_have_levels() {
    let design = "design:\n  between:\n    arm: {levels: [human, agent]}\n    speed: {levels: [slow, fast]}\n";
    let rooms = |name: &str, timeline: &str| {
        let study = good(name, design, timeline);
        let outline = study.make_outline(&study::EnvFactsByStage::new());
        let [lobby] = &outline.lobbies[..] else {
            panic!("{:?}", outline.lobbies);
        };
        (lobby.cells, lobby.same.clone(), lobby.wait_min)
    };
    let within = |when: &str, same: &str| {
        let lobby = DYAD.replace(
            "type: lobby,",
            &format!("type: lobby, match: {{same: [{same}]}},"),
        );
        let (other, lobby) = (page("other"), inside(&lobby));
        let asks = "arm == \"agent\" && speed == \"slow\"";
        format!("  - {{when: '{asks}', block: [{other}]}}\n  - when: '{when}'\n    block:\n{lobby}")
    };
    // Without a guard, each level has a room, and a person comes to one of two.
    let both = rooms("rooms-both", &within("1 < 2", "arm"));
    assert_eq!(both, (2, vec!["arm".to_owned()], 1.0));
    // Behind a guard, one level is left; half of the people come to its room.
    let one = rooms("rooms-one", &within("arm == \"human\"", "arm"));
    assert_eq!(one, (1, vec![], 1.0));
    let split = rooms("rooms-split", &within("arm == \"human\"", "arm, speed"));
    assert_eq!(split, (2, vec!["speed".to_owned()], 2.0));
}
