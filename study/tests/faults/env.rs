//! Faults in env stages: the network, and the rules for a person who is gone.

use super::{fault, faults, swap};

#[test]
fn the_window_and_the_input_delay_fit_together() {
    assert_eq!(
        fault("window: 8", "window: 38"),
        "study.yaml:24:13: timeline[2].window: a window of 38 and an input delay of up to 3 are more than 40 ticks \
         together; write a window of at most 37"
    );
    assert_eq!(
        fault("window: 8", "window: 41"),
        "study.yaml:24:13: timeline[2].window: expected a whole number from 1 to 40 ticks, found `41`"
    );
}

/// Replaces the terms of the env stage for a person who is gone; the good study has them on line 29, column 5.
fn gone(terms: &str) -> String {
    fault("{grace_s: 15}", terms)
}

#[test]
fn an_ai_partner_that_shall_take_a_seat_is_named() {
    let without_lobby_bot = |terms: &str| {
        let name = format!("no-bot-{}", terms.len());
        let mut found = faults(&name, |_, text| {
            swap(text, "on_timeout: bot", "on_timeout: wait");
            swap(text, "    bot: {policy: cook}\n", "");
            swap(text, "{grace_s: 15}", terms);
        });
        assert_eq!(found.len(), 1, "{found:#?}");
        found.remove(0)
    };
    let who = "calls an AI partner, but neither this block nor a lobby before the stage names one; \
               write for example `bot: {policy: cook, disclose: true}` in this block";
    assert_eq!(
        without_lobby_bot("{grace_s: 15, then: bot}"),
        format!("study.yaml:28:34: timeline[2].on_disconnect.then: {who}")
    );
    assert_eq!(
        without_lobby_bot("{meanwhile: bot, then: technical}"),
        format!("study.yaml:28:21: timeline[2].on_disconnect.meanwhile: {who}")
    );
    assert_eq!(
        without_lobby_bot("{first_half: partner_left, second_half: bot}"),
        format!("study.yaml:28:47: timeline[2].on_disconnect.second_half: {who}")
    );
    assert_eq!(
        gone("{then: technical, bot: {policy: cook}}"),
        "study.yaml:29:38: timeline[2].on_disconnect.bot: never used, as no AI partner takes the seat; \
         remove it, or write `then: bot` or `meanwhile: bot`"
    );
    assert_eq!(
        gone("{then: bot, bot: {policy: cook, disclose: no}}"),
        "study.yaml:29:62: timeline[2].on_disconnect.bot.disclose: `no` means different things to different programs; \
         write true or false"
    );
}

#[test]
fn what_follows_is_said_once_for_each_half() {
    assert_eq!(
        gone("{then: bot, second_half: bot}"),
        "study.yaml:29:21: timeline[2].on_disconnect.then: says what follows in the whole episode, and a half says it \
         again; keep `then`, or `first_half` and `second_half`"
    );
    assert_eq!(
        gone("{first_half: partner_left}"),
        "study.yaml:29:20: timeline[2].on_disconnect.second_half: missing, as `first_half` says what follows in the \
         other half; write for example `second_half: bot`"
    );
    assert_eq!(
        gone("{second_half: bot}"),
        "study.yaml:29:20: timeline[2].on_disconnect.first_half: missing, as `second_half` says what follows in the \
         other half; write for example `first_half: partner_left`"
    );
}

#[test]
fn the_words_of_a_person_who_is_gone_are_checked() {
    assert_eq!(
        gone("{meanwhile: holt}"),
        "study.yaml:29:32: timeline[2].on_disconnect.meanwhile: unknown choice `holt`; did you mean `hold`? \
         Known here: stand, bot, hold"
    );
    assert_eq!(
        gone("{then: partner-left}"),
        "study.yaml:29:27: timeline[2].on_disconnect.then: unknown choice `partner-left`; did you mean `partner_left`? \
         Known here: bot, partner_left, technical"
    );
    assert_eq!(
        gone("{grace: 15}"),
        "study.yaml:29:21: timeline[2].on_disconnect.grace: unknown key; did you mean `grace_s`? \
         Known here: grace_s, meanwhile, then, first_half, second_half, bot"
    );
}

#[test]
fn a_hidden_page_is_told_before_it_counts_as_gone() {
    let hidden = |terms: &str| {
        let with = format!("{{grace_s: 15}}\n    hidden_tab: {terms}");
        fault("{grace_s: 15}", &with)
    };
    assert_eq!(
        hidden("{warn_s: 30}"),
        "study.yaml:30:17: timeline[2].hidden_tab: `drop_s` is 20 and `warn_s` is 30; the others must be told before the \
         person counts as gone, so `drop_s` must not be below `warn_s`"
    );
    assert_eq!(
        hidden("{warn_s: 3, drops_s: 9}"),
        "study.yaml:30:29: timeline[2].hidden_tab.drops_s: unknown key; did you mean `drop_s`? \
         Known here: warn_s, drop_s"
    );
    assert_eq!(
        hidden("{warn_s: 0}"),
        "study.yaml:30:26: timeline[2].hidden_tab.warn_s: expected a whole number from 1 to 600 seconds, found `0`"
    );
}

#[test]
fn the_words_of_the_network_are_checked() {
    let net = |terms: &str| fault("format: 1", &format!("format: 1\nnet: {terms}"));
    assert_eq!(
        net("{ice: relays}"),
        "study.yaml:2:12: net.ice: unknown choice `relays`; did you mean `relay`? Known here: all, relay"
    );
    assert_eq!(
        net("{ice: relay, fallback: true}"),
        "study.yaml:2:29: net.fallback: unknown choice `true`; known here: websocket, none"
    );
    assert_eq!(
        net("{turn: none}"),
        "study.yaml:2:7: net.turn: unknown key; known here: ice, fallback"
    );
}
