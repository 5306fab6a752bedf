use super::*;

fn order<'a>(agents: &'a [String], rules: Option<&'a str>) -> HumanAiOrder<'a> {
    HumanAiOrder {
        agents,
        rules,
        ..HumanAiOrder::default()
    }
}

fn clone_cook() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = root.join("../examples/overcooked-coord/cook_clone.onnx");
    file.display().to_string()
}

#[test]
fn what_it_writes_is_clean_for_models_and_scripts_and_any_kitchens() {
    let home = tempfile::tempdir().unwrap();
    let many = [clone_cook(), clone_cook(), "cook".to_owned()];
    let layouts =
        |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    for (name, agents, kitchens) in [
        ("usual", &many[..], layouts(&[])),
        ("two", &many[1..], layouts(&["forced_coordination"])),
        ("more", &many[..], layouts(&kitchens::KITCHENS[..3])),
    ] {
        let dir = home.path().join(name);
        let order = HumanAiOrder {
            agents,
            layouts: &kitchens,
            ..HumanAiOrder::default()
        };
        let written = write_human_ai(&dir, &order).unwrap();
        let linted = catalog::lint::lint_study(&dir);
        assert!(
            linted.is_fine() && linted.warnings.is_empty(),
            "{name}: {linted}"
        );
        let outline = linted.outline.unwrap();
        assert_eq!(outline.id, name);
        assert!(written.to_string().contains("coplay rehearse"));
    }
    let dir = home.path().join("usual");
    let text = fs::read_to_string(dir.join("study.yaml")).unwrap();
    for words in [
        "  cook_clone: {policy: \"cook_clone.onnx\", disclose: false}\n",
        "  cook_clone_2: {policy: \"cook_clone_2.onnx\", disclose: false}\n",
        "    layout: {levels: [cramped_room, asymmetric_advantages], order: latin}\n",
        "    for_each: layout\n",
    ] {
        assert!(text.contains(words), "{text}");
    }
    for file in ["study.yaml", "consent.md", "how.md"] {
        let text = fs::read_to_string(dir.join(file)).unwrap();
        for part in [
            "PARTNERS", "NAMES", "LAYOUT", "QUOTA", "BASE", "MINUTES", "ROUNDS",
        ] {
            assert!(!text.contains(&format!("@{part}")), "{file}: {part}");
        }
    }
}

#[test]
fn agents_of_several_projects_get_the_observations_that_they_take() {
    let home = tempfile::tempdir().unwrap();
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalog/tests/models");
    let model = |name: &str| models.join(name).display().to_string();
    for (rules, agents, words) in [
        (
            "overcooked-ai-1.1.0",
            [model("lossless.onnx"), model("jaxmarl.onnx")],
            [
                "  jaxmarl: {policy: \"jaxmarl.onnx\", disclose: false, observation: jaxmarl}\n",
                "layout: \"{{ layout }}\", observation: [jaxmarl, lossless], horizon: 600",
            ],
        ),
        (
            "jaxmarl-0.2.0",
            [model("jaxmarl.onnx"), "cook".to_owned()],
            [
                "  jaxmarl: {policy: \"jaxmarl.onnx\", disclose: false}\n",
                "config: {rules: jaxmarl-0.2.0, layout: cramped_room, horizon: 300, tick_hz: 10}",
            ],
        ),
    ] {
        let dir = home.path().join(rules);
        write_human_ai(&dir, &order(&agents, Some(rules))).unwrap();
        let linted = catalog::lint::lint_study(&dir);
        assert!(linted.is_fine() && linted.warnings.is_empty(), "{linted}");
        let text = fs::read_to_string(dir.join("study.yaml")).unwrap();
        for words in words {
            assert!(text.contains(words), "{words} in {text}");
        }
    }
    let why = |rules| {
        let agents = [model("jaxmarl.onnx"), model("lossless.onnx")];
        let error = write_human_ai(&home.path().join("none"), &order(&agents, rules)).unwrap_err();
        format!("{error:#}")
    };
    assert!(
        why(None).contains("`--rules overcooked-ai-1.1.0`"),
        "{}",
        why(None)
    );
    assert!(
        why(Some("moon")).contains("`--rules moon`"),
        "{}",
        why(Some("moon"))
    );
}

#[test]
fn a_choice_that_a_model_leaves_open_is_told_and_a_wrong_certificate_refused() {
    let home = tempfile::tempdir().unwrap();
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalog/tests/models");
    let model = home.path().join("ring.onnx");
    fs::copy(models.join("ring.onnx"), &model).unwrap();
    let agents = [model.display().to_string(), "cook".to_owned()];
    let layouts = ["coord_ring".to_owned()];
    let ordered = HumanAiOrder {
        layouts: &layouts,
        ..order(&agents, Some("jaxmarl-0.2.0"))
    };
    let told = write_human_ai(&home.path().join("ring"), &ordered)
        .unwrap()
        .to_string();
    assert!(
        told.contains(
            "`ring.onnx` gets the observation `jaxmarl`. In `coord_ring`, `lossless` has the same shape."
        ),
        "{told}"
    );
    fs::write(with_certificate(&model), "{}").unwrap();
    let refused = write_human_ai(&home.path().join("other"), &ordered).unwrap_err();
    let refused = format!("{refused:#}");
    assert!(
        refused.contains("ring.onnx.certificate.json is no certificate"),
        "{refused}"
    );
    assert!(!home.path().join("other").exists());
}

#[test]
fn agents_of_overcooked_v2_get_its_kitchens_its_soups_and_the_view_that_they_had() {
    let home = tempfile::tempdir().unwrap();
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalog/tests/models");
    let model = |name: &str| models.join(name).display().to_string();
    let whole = [model("jaxmarl_v2.onnx"), "random".to_owned()];
    let near = [model("jaxmarl_v2_near.onnx"), "random".to_owned()];
    let coord = ["grounded_coord_simple".to_owned()];
    let written = |name: &str, order: HumanAiOrder<'_>| {
        let dir = home.path().join(name);
        let order = HumanAiOrder {
            rules: Some("jaxmarl-v2"),
            ..order
        };
        write_human_ai(&dir, &order).map(|_| {
            let linted = catalog::lint::lint_study(&dir);
            assert!(linted.is_fine() && linted.warnings.is_empty(), "{linted}");
            let read = |file| fs::read_to_string(dir.join(file)).unwrap();
            read("study.yaml") + &read("how.md")
        })
    };
    let plain = written("whole", order(&whole, None)).unwrap();
    for part in [
        "FOG",
        "TAKE",
        "PAID",
        "DISH",
        "PARAMS",
        "PRACTICE",
        "INGREDIENTS",
    ] {
        assert!(!plain.contains(&format!("@{part}")), "{part}");
    }
    let ordered = HumanAiOrder {
        params: Some(r#"{"view_radius": 2}"#),
        ..order(&near, None)
    };
    let shown = written("near", ordered).unwrap();
    for (text, words) in [
        (&plain, "    env: overcooked_jaxmarl_v2@1.0.0\n"),
        (&plain, "    for_each: {layout: [cramped_room]}\n"),
        (
            &plain,
            "    players: [self, {policy: idle, disclose: false}]\n",
        ),
        (
            &plain,
            "1. Take an onion and put it into the pot. Three onions",
        ),
        (
            &shown,
            "{levels: [more_fun_coordination, fun_symmetries], order: latin}",
        ),
        (
            &shown,
            "config: {view_radius: 2, layout: \"{{ layout }}\", horizon: 600",
        ),
        (
            &shown,
            "1. Look at the display: it shows the soup that is wanted.",
        ),
        (
            &shown,
            "You see 2 cells in each direction, and no others.\n",
        ),
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let ordered = HumanAiOrder {
        params: Some(r#"{"view_radius": 2, "start_cooking_interaction": true}"#),
        layouts: &["cramped_room".to_owned()],
        ..order(&near, None)
    };
    let why = format!("{:#}", written("other", ordered).unwrap_err());
    assert!(why.contains("`jaxmarl_v2_near` cannot play"), "{why}");
    let ordered = HumanAiOrder {
        layouts: &coord,
        ..order(&near, None)
    };
    let why = format!("{:#}", written("blind", ordered).unwrap_err());
    assert!(why.contains(r#"`--params '{"view_radius": 2}'`"#), "{why}");
    let long = ["long_room".to_owned()];
    for (layouts, params, reason) in [
        (&long[..], None, "in `long_room`, the number of cooks is 1"),
        (&[], Some("[2]"), "write a JSON object"),
        (
            &[],
            Some(r#"{"horizon": 9}"#),
            "the study sets `horizon` itself",
        ),
        (&[], Some(r#"{"moon": 9}"#), "`moon`"),
    ] {
        let ordered = HumanAiOrder {
            layouts,
            params,
            ..order(&whole, None)
        };
        let why = format!("{:#}", written("none", ordered).unwrap_err());
        assert!(why.contains(reason), "{why}");
    }
}

#[test]
fn what_cannot_be_a_study_is_refused_before_anything_is_written() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("new");
    let refused = |agents: &[&str], layouts: &[&str]| {
        let own = |words: &[&str]| -> Vec<String> {
            words.iter().map(|word| (*word).to_owned()).collect()
        };
        let order = HumanAiOrder {
            agents: &own(agents),
            layouts: &own(layouts),
            ..HumanAiOrder::default()
        };
        let error = write_human_ai(&dir, &order).unwrap_err();
        assert!(!dir.exists());
        format!("{error:#}")
    };
    assert!(refused(&["cook"], &[]).contains("`--agents cook cook`"));
    assert!(refused(&["cook", "chef.onnx"], &[]).contains("there is no file `chef.onnx`"));
    assert!(refused(&["cook", "idle"], &["moon"]).contains("`moon` is no kitchen"));
    let twice = ["cramped_room", "cramped_room"];
    assert!(refused(&["cook", "idle"], &twice).contains("named twice"));
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../onnx/tests/golden/mlp.onnx");
    let model = model.display().to_string();
    let text = refused(&["cook", &model], &[]);
    assert!(
        text.contains("no kitchen is one that all agents can play"),
        "{text}"
    );
    let all = ["idle"; 9];
    assert!(refused(&all, &kitchens::KITCHENS).contains("45 rounds"));
}
