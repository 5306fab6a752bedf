//! The news for the declared page around this frame: the group, its messages, and the episodes that have ended.
//!
//! It learns no more than the person at this page may know: an AI partner that is not disclosed counts as a person.

use std::collections::BTreeSet;

use client_core::Verdict;
use protocol::Seat;
use protocol::control::{ChatView, EndReason};
use serde_json::{Value, json};

use super::App;
use super::stages::Card;
use crate::episode::partners::{KnownPartner, list_members};
use crate::shell::inbox::Inbox;
use crate::shell::parent_page::{ParentPage, TYPE};

/// The declared page around this frame, and the news that it has.
pub(super) struct ParentNews {
    page: Option<ParentPage>,
    group: Value,
    /// The messages, by the group's visit, the place of their writer, and their number.
    messages: BTreeSet<(u16, Seat, u32)>,
}

impl ParentNews {
    /// Finds the page, and listens to it.
    pub(super) fn new(inbox: &Inbox) -> Self {
        let page = ParentPage::find();
        if let Some(page) = &page {
            page.listen(inbox);
        }
        Self {
            page,
            group: Value::Null,
            messages: BTreeSet::new(),
        }
    }
}

impl App {
    /// Tells the page around this frame about the group and its messages, as far as that is news.
    pub(super) fn tell_parent(&mut self) {
        if self.parent.page.is_none() {
            return;
        }
        let (group, messages) = (self.describe_group(), self.list_new_messages());
        let news = &mut self.parent;
        let Some(page) = &news.page else { return };
        if let Some(group) = group.filter(|group| *group != news.group) {
            page.post(&group);
            news.group = group;
        }
        for (key, message) in messages {
            page.post(&message);
            news.messages.insert(key);
        }
    }

    /// Tells the page around this frame how an episode has ended.
    pub(super) fn tell_episode(&self, verdict: &Verdict) {
        let (Some(page), Some(peer)) = (&self.parent.page, self.page.peer()) else {
            return;
        };
        let plan = peer.plan();
        page.post(&json!({
            "type": TYPE,
            "event": "episode",
            "stage": self.stage_id(),
            "episode": plan.episode,
            "round": plan.round.0 + 1,
            "seat": plan.seat.0,
            "score": verdict.score,
            "ticks": verdict.ticks.0,
            "reason": name_reason(verdict.reason),
        }));
    }

    /// Writes a text of the page around this frame to the group: under the conditions and limits of the field, whose
    /// text stays.
    pub(super) fn write_for_parent(&mut self, now_us: u64, text: &str) {
        let text = text.trim();
        let chat = self.page.chat().filter(|_| self.page.has_chat_field());
        let most = chat.map_or(0, |chat| usize::from(chat.view().max_length));
        if !text.is_empty() && text.encode_utf16().count() <= most {
            // False if nobody would read it: then it is dropped.
            self.page.handle_write(now_us, text.to_owned());
        }
    }

    fn stage_id(&self) -> Option<&str> {
        self.page.stage().map(|stage| stage.id.as_str())
    }

    /// The group of the stage on the page; `None` where there is none.
    fn describe_group(&self) -> Option<Value> {
        let (seat, partners) = match (&self.play, &self.card) {
            (Some(play), _) => (self.page.peer()?.plan().seat, play.partners.list_known()),
            (None, Card::Chat(_)) => {
                let view = self.page.chat()?.view();
                (view.place, list_members(view))
            }
            (None, _) => return None,
        };
        let people = partners.iter().filter(|partner| !partner.is_ai).count() + 1;
        let partners = partners.iter().map(describe_partner);
        Some(json!({
            "type": TYPE,
            "event": "group",
            "stage": self.stage_id(),
            "seat": seat.0,
            "people": people,
            "partners": partners.collect::<Vec<_>>(),
        }))
    }

    /// The messages on the page that the page around this frame does not know, each with its key.
    fn list_new_messages(&self) -> Vec<((u16, Seat, u32), Value)> {
        let Some(view) = self.page.chat().map(|chat| chat.view()) else {
            return Vec::new();
        };
        let keyed = view.messages.iter().map(|message| {
            let key = (view.group_visit, message.place, message.number);
            (key, message)
        });
        let new = keyed.filter(|(key, _)| !self.parent.messages.contains(key));
        let told = new.map(|(key, message)| {
            let told = json!({
                "type": TYPE,
                "event": "message",
                "stage": self.stage_id(),
                "id": format!("{}-{}-{}", key.0, key.1.0, key.2),
                "seat": self.seat_of(view, message.place).0,
                "is_own": message.place == view.place,
                "text": message.text,
            });
            (key, told)
        });
        told.collect()
    }

    /// The seat of a member of the chat in the episode; without an episode, their place.
    fn seat_of(&self, view: &ChatView, place: Seat) -> Seat {
        let own = self.page.peer().map(|peer| peer.plan().seat);
        match (&self.play, own) {
            (Some(_), Some(own)) if place == view.place => own,
            (Some(play), _) => play.partners.seat_of(place).unwrap_or(place),
            (None, _) => place,
        }
    }
}

fn describe_partner(partner: &KnownPartner) -> Value {
    json!({ "seat": partner.seat.0, "is_ai": partner.is_ai, "is_here": partner.is_here })
}

/// The name of a reason, as in the data.
fn name_reason(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Played => "played",
        EndReason::PartnerLeft => "partner_left",
        EndReason::Technical => "technical",
    }
}
