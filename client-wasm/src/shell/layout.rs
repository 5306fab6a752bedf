//! The pages around the episodes: bar and notices.
//!
//! Each page is made once, when its stage begins, and removed with it. This module must not know
//! where in the study a participant is; the server does.

use web_sys::{Element, HtmlElement};

use crate::messages;
use crate::shell::help::Help;
use crate::shell::inbox::Inbox;
use crate::shell::leave_button::Leave;
use crate::shell::{credentials, dom};

/// The most stages that have a dot each.
const MOST_DOTS: u16 = 10;

/// The frame that all pages share.
pub(crate) struct PageLayout {
    bar: HtmlElement,
    title: HtmlElement,
    progress: HtmlElement,
    languages: HtmlElement,
    notice: HtmlElement,
    contact: HtmlElement,
    leave: Leave,
    /// The messages between the person and the researchers.
    pub(crate) help: Help,
    root: Element,
    page: Option<Element>,
    name: String,
    /// The address to write to.
    whom: String,
}

impl PageLayout {
    /// Builds the frame inside the element with this id.
    ///
    /// # Errors
    /// A sentence, if there is no such element.
    pub(crate) fn new(root: &str, inbox: &Inbox) -> Result<Self, String> {
        let root = dom::document()
            .get_element_by_id(root)
            .ok_or_else(|| format!("the page has no #{root}"))?;
        root.set_text_content(None);
        let bar = dom::make_element("header.bar.early");
        let title = dom::make_element("strong.title");
        let progress = dom::make_element("div.progress");
        dom::set_attribute(&progress, "role", "img");
        let languages = dom::make_element("nav.languages");
        let leave = Leave::new(inbox, &bar);
        let help = Help::new(inbox, &root);
        dom::add_children(
            &bar,
            &[&title, &progress, &languages, &help.button, &leave.button],
        );
        let notice = dom::make_element("div.notice");
        dom::set_attribute(&notice, "role", "alert");
        notice.set_hidden(true);
        let contact = dom::make_element("footer.contact");
        dom::add_children(&root, &[&bar, &help.news, &notice, &contact]);
        Ok(Self {
            bar,
            title,
            progress,
            languages,
            notice,
            contact,
            leave,
            help,
            root,
            page: None,
            name: String::new(),
            whom: String::new(),
        })
    }

    /// Shows the title of the study, and the contact.
    pub(crate) fn name_study(&mut self, title: &str, contact: &str) {
        title.clone_into(&mut self.name);
        dom::set_text(&self.title, title);
        dom::document().set_title(title);
        contact.clone_into(&mut self.whom);
        self.contact(contact);
    }

    /// Writes the permanent texts in the language of the page, which is that of the tag.
    pub(crate) fn set_language(&mut self, language: &str) {
        if let Some(html) = dom::document().document_element() {
            dom::set_attribute(&html, "lang", language);
        }
        dom::set_attribute(
            &self.languages,
            "aria-label",
            messages::current_words().languages,
        );
        dom::set_text(&self.leave.button, messages::current_words().leave);
        self.help.set_language();
    }

    /// Offers the other languages of the study, each by its own name.
    pub(crate) fn offer_languages(&self, language: &str, all: &[String]) {
        self.languages.set_text_content(None);
        for other in all.iter().filter(|other| *other != language) {
            let Some(address) = credentials::address_in_language(other) else {
                continue;
            };
            let name = messages::own_language_name(other).map(str::to_owned);
            let name = name.or_else(|| dom::find_language_name(other));
            let link = dom::make_text("a", name.as_ref().unwrap_or(other));
            for (attribute, value) in [("href", &address), ("lang", other), ("hreflang", other)] {
                dom::set_attribute(&link, attribute, value);
            }
            dom::add_children(&self.languages, &[&link]);
        }
    }

    /// Shows the contact.
    fn contact(&self, contact: &str) {
        self.contact.set_text_content(None);
        let is_mail = contact.contains('@') && !contact.contains(char::is_whitespace);
        let whom = dom::make_text(if is_mail { "a" } else { "span" }, contact);
        if is_mail {
            dom::set_attribute(&whom, "href", &format!("mailto:{contact}"));
        }
        dom::add_children(
            &self.contact,
            &[
                &dom::make_text("span", messages::current_words().contact),
                &whom,
            ],
        );
    }

    /// The study's title.
    pub(crate) fn study_title(&self) -> &str {
        &self.name
    }

    /// Shows how far the participant is: a dot for each stage, or a bar if there are many; nothing if the count is not
    /// known.
    pub(crate) fn show_progress(&self, index: u16, count: u16) {
        self.progress.set_text_content(None);
        dom::show_element(&self.progress, count > 0);
        if count == 0 {
            return;
        }
        let words = messages::say_progress(index + 1, count);
        dom::set_attribute(&self.progress, "aria-label", &words);
        if count > MOST_DOTS {
            let done = dom::make_element("i.part");
            let part = 100.0 * f64::from(index + 1) / f64::from(count);
            // A style that the browser refuses costs only the picture.
            (done.style().set_property("--part", &format!("{part}%"))).ok();
            return dom::add_children(&self.progress, &[&done]);
        }
        for stage in 0..count {
            let dot = dom::make_element(match stage {
                _ if stage < index => "i.done",
                _ if stage == index => "i.now",
                _ => "i",
            });
            dom::add_children(&self.progress, &[&dot]);
        }
    }

    /// Replaces the page. The focus goes to its heading, so that a screen reader begins there.
    pub(crate) fn turn_to(&mut self, page: &Element) {
        if let Some(old) = self.page.replace(page.clone()) {
            old.remove();
        }
        self.root.insert_before(page, Some(&self.contact)).ok();
        // A page that names the contact itself need not show it again.
        let said = page.text_content().unwrap_or_default();
        let is_said = !self.whom.is_empty() && said.contains(&self.whom);
        dom::show_element(&self.contact, !is_said);
        focus_heading(page);
        dom::window().scroll_to_with_x_and_y(0.0, 0.0);
    }

    /// Offers the way out, or does not.
    pub(crate) fn may_leave(&self, may: bool) {
        // Earlier, parts would still be missing, and the others would move.
        self.bar.class_list().remove_1("early").ok();
        self.leave.show_button(may);
    }

    /// Says something above the page, or nothing.
    pub(crate) fn show_notice(&self, sentence: Option<&str>) {
        dom::set_text(&self.notice, sentence.unwrap_or_default());
        dom::show_element(&self.notice, sentence.is_some());
    }
}

/// Lets a screen reader begin at the heading of a page.
pub(crate) fn focus_heading(page: &Element) {
    if let Ok(Some(heading)) = page.query_selector("h1") {
        dom::set_attribute(&heading, "tabindex", "-1");
        let heading: HtmlElement = wasm_bindgen::JsCast::unchecked_into(heading);
        heading.focus().ok();
    }
}

/// Puts a heading before a text that has none. Nobody sees it: the bar has the same words.
pub(crate) fn ensure_heading(page: &Element, heading: &str) {
    if let Ok(None) = page.query_selector("h1")
        && let Some(first) = page.first_child()
    {
        page.insert_before(&dom::make_text("h1.sr-only", heading), Some(&first))
            .ok();
    }
}

/// A page that only says something.
pub(crate) fn make_message_page(heading: &str, sentence: &str) -> HtmlElement {
    let card = dom::make_element("section.card");
    dom::add_children(
        &card,
        &[
            &dom::make_text("h1", heading),
            &dom::make_text("p", sentence),
        ],
    );
    card
}
