//! Stages with a language model: its possible readers, and the names in its prompt; and lobbies whose partner would get
//! directives.

use std::collections::BTreeMap;

use super::fill;
use super::names::Scope;
use super::read::Read;
use crate::language_model::LanguageModel;
use crate::problem::make_hint;
use crate::read::Cursor;
use crate::stage::StageKind;
use crate::stage::env::{Env, RunOn};
use crate::stage::lobby::Lobby;

/// Reports language models that have nobody to write to, and chats of people who play alone without one. `scopes` are
/// the names at each stage; `None` if the design has faults.
pub(crate) fn check(read: &Read<'_>, scopes: Option<&BTreeMap<u16, Scope>>) {
    for (index, place) in (0..).zip(&read.places) {
        match read.kind(index) {
            Some(StageKind::Env(env)) => {
                let scope = scopes.and_then(|scopes| scopes.get(&index));
                of_env(place, env, scope);
            }
            Some(StageKind::Lobby(lobby)) => of_lobby(place, lobby),
            _ => {}
        }
    }
}

fn of_env(place: &Cursor<'_>, env: &Env, scope: Option<&Scope>) {
    let seated: Vec<_> = (env.ai_partners())
        .filter_map(|bot| bot.language_model.as_deref())
        .collect();
    let key = if env.assistant.is_some() {
        "assistant"
    } else {
        "players"
    };
    let models: Vec<&LanguageModel> = seated
        .iter()
        .copied()
        .chain(env.assistant.as_deref())
        .collect();
    let Some(first) = models.first() else {
        if env.people() == 1 && env.screen.chat.is_some() {
            place.wrong_at(
                "chat",
                "nobody is there to write to, as the participant plays alone; add `partner` to `players`, name an \
                 `assistant` with a language model, or leave this out",
            );
        }
        return;
    };
    let name = &first.name;
    let at_once = seated.len() > 1
        && env
            .players
            .iter()
            .filter(|player| player.has_language_model())
            .count()
            > 1;
    if env.people() > 1 {
        place.wrong_at(key, format!("`{name}` has a language model, which speaks with one person, and several play here; remove `partner` from `players`, or name a partner without a language model"));
    } else if env.run == RunOn::Host {
        place.wrong_at(key, format!("`{name}` has a language model, which cannot see an environment that runs on a host; write `run: page`, or name a partner without a language model"));
    } else if env.assistant.is_some() && !seated.is_empty() || at_once {
        place.wrong_at(
            key,
            "two language models would speak at once; keep one of them at this stage".to_owned(),
        );
    } else if env.assistant.is_some() && env.screen.chat.is_none() {
        place.wrong_at(
            "assistant",
            format!("`{name}` can only write, and there is no chat; write `chat: true`"),
        );
    }
    for model in models {
        check_prompt(place, key, model, scope);
        if env.assistant.is_some() && model.fallback.directive.is_some() {
            place.wrong_at(
                key,
                format!(
                    "`{}` has no seat, so its `fallback` cannot have `do`; remove it",
                    model.name
                ),
            );
        }
    }
}

/// Reports names in a prompt that stand for nothing at a stage.
fn check_prompt(place: &Cursor<'_>, key: &str, model: &LanguageModel, scope: Option<&Scope>) {
    let Some(scope) = scope else { return };
    let known: Vec<&str> = scope.keys().map(String::as_str).collect();
    for (_, found) in fill::list_references(&model.prompt.as_str().into(), "") {
        let Ok(names) = found else {
            place.wrong_at(
                key,
                format!(
                    "the prompt of `{}` has a `{{{{` that cannot be read; write `{{{{ name }}}}`",
                    model.name
                ),
            );
            continue;
        };
        for (name, _) in names.iter().filter(|(name, _)| !scope.contains_key(name)) {
            place.wrong_at(
                key,
                format!(
                    "the prompt of `{}` names `{name}`, which stands for nothing at this stage; {}",
                    model.name,
                    make_hint(name, &known)
                ),
            );
        }
    }
}

/// Reports lobbies in which a language model would write in place of a promised person.
fn of_lobby(place: &Cursor<'_>, lobby: &Lobby) {
    let drawn = lobby.partner.iter().flat_map(|drawn| &drawn.choices);
    let mut drawn = drawn.filter(|(_, partner)| partner.language_model.is_some());
    let choices = lobby.partner.iter().flat_map(|drawn| &drawn.choices);
    let mut told = choices.filter(|(_, partner)| partner.buttons.is_some());
    if let Some((name, _)) = told.next() {
        place.wrong_at("partner", format!("`{name}` has buttons, which the page shows for a partner in `players` alone; name a partner without buttons here"));
    }
    if let Some((name, _)) = drawn.next() {
        place.wrong_at("partner", format!("`{name}` has a language model, which speaks with a person who plays alone; name a partner without one here"));
    }
}
