//! The acts of a person on each kind of stage.

use anyhow::{Context as _, anyhow};
use protocol::control::StageView;
use serde_json::json;
use study::StageKind;

use super::page::{Field, Person, Seen};
use crate::fault::Fault;
use crate::quiz::{in_order, solve_quiz};
use crate::record::Phase;

/// Chance, of 100, that an optional question is skipped.
const PASSED_OVER: usize = 20;

/// The next step of a person in a watch stage: the element to click on, `write` into the field that has the focus, `key`
/// to move the rating, or nothing while a recording plays.
const FILM_STEP: &str = "(() => {
  const host = document.querySelector('section.watch .film');
  const stage = host?.stage;
  if (!stage) return host?.querySelector('.actions button') ? 'section.watch .actions button' : '';
  const playing = stage.players.some(player => player.isPlaying);
  const empty = [...host.querySelectorAll('.spans textarea')].find(area => !area.value);
  if (empty) { empty.focus(); return 'write'; }
  if (playing) return stage.annotator?.rate && Math.random() < .5 ? 'key' : '';
  const unwatched = stage.players.findIndex(player => !player.isWatched && !(stage.task.rate && stage.annotator.isRated()));
  if (unwatched >= 0) return `section.watch .clip:nth-child(${unwatched + 1}) .film-play`;
  if (stage.choice === null && stage.task.choose) return 'section.watch .choose label:last-child input';
  if (stage.annotator?.mark && stage.annotator.problem()) return 'section.watch button.mark';
  return 'section.watch .actions button';
})()";

impl Person {
    pub(super) async fn give_consent(&mut self) -> anyhow::Result<()> {
        if self.fault == Some(Fault::Refuse) {
            self.record.lock().happened = true;
            return self
                .find_element("section.consent .actions button.secondary")
                .await;
        }
        self.find_element("section.consent .actions button.primary")
            .await
    }

    /// Answers the questions of a page of a form, and continues.
    pub(super) async fn form(
        &mut self,
        id: &str,
        view: &StageView,
        seen: &Seen,
    ) -> anyhow::Result<()> {
        let mut wanted = match view {
            StageView::Quiz {
                attempt,
                attempts,
                surveyjs,
            } => self.solve(id, surveyjs, (*attempt, *attempts))?,
            _ => Vec::new(),
        }
        .into_iter();
        for (at, field) in seen.fields.iter().enumerate() {
            if !field.shown {
                continue;
            }
            let wanted = wanted.next();
            let is_passed = !field.required && self.rng.draw_below(100) < PASSED_OVER;
            if wanted.is_some() || field.missing || !(field.answered || is_passed) {
                self.answer(at, field, wanted.as_deref()).await?;
            }
        }
        self.find_element("form.survey .actions button[type=submit]")
            .await
    }

    /// The choices in a quiz, question by question: the right ones, or one that is wrong.
    fn solve(
        &mut self,
        id: &str,
        surveyjs: &str,
        attempt: (u8, u8),
    ) -> anyhow::Result<Vec<String>> {
        let fails = self.fault == Some(Fault::FailQuiz);
        let answers = solve_quiz(&self.around.study, id, (fails, attempt), &mut self.rng);
        self.record.lock().happened |= fails;
        Ok(in_order(surveyjs, &answers.map_err(|why| anyhow!(why))?))
    }

    /// Answers one question with a value that it accepts, or with the wanted one.
    async fn answer(
        &mut self,
        at: usize,
        field: &Field,
        wanted: Option<&str>,
    ) -> anyhow::Result<()> {
        let of = format!("document.querySelectorAll('form.survey fieldset.item')[{at}]");
        let label = |nth: usize| format!("{of}?.querySelectorAll('label.choice')[{nth}]");
        for group in field.groups.iter().filter(|group| !group.is_empty()) {
            let chosen = group
                .iter()
                .find(|(_, value)| Some(value.as_str()) == wanted);
            let (nth, _) = chosen.unwrap_or(&group[self.rng.draw_below(group.len())]);
            self.tab.click_on(&label(*nth)).await?;
        }
        if field.moves > 0 {
            let nth = self.rng.draw_below(field.moves);
            let button =
                format!("{of}?.querySelectorAll('.ranking button:not([disabled])')[{nth}]");
            self.tab.click_on(&button).await?;
        }
        for checks in &field.checks {
            let mut some = checks.clone();
            self.rng.shuffle(&mut some);
            some.truncate(1 + self.rng.draw_below(checks.len()));
            for nth in some {
                self.tab.click_on(&label(nth)).await?;
            }
        }
        for (nth, kind) in field.typed.iter().enumerate() {
            let input = format!(
                "{of}?.querySelectorAll('input:not([type=radio], [type=checkbox]), textarea, select')[{nth}]"
            );
            self.write(&input, kind).await?;
        }
        Ok(())
    }

    /// Types into a field, or sets one that cannot be typed into.
    async fn write(&mut self, input: &str, kind: &str) -> anyhow::Result<()> {
        let kind = if kind == "textarea" { "text" } else { kind };
        let text = match kind {
            "select" => String::new(),
            kind => self.typed(kind),
        };
        if !matches!(kind, "date" | "month" | "time" | "range" | "select") {
            self.tab.click_on(input).await?;
            let selected = format!("{input}?.select?.()");
            self.tab.evaluate_script(&selected).await?;
            let text = json!({ "text": text });
            self.tab.page("Input.insertText", text).await?;
            return Ok(());
        }
        let value = match kind {
            "select" => "input.options[input.options.length - 1].value".to_owned(),
            _ => json!(text).to_string(),
        };
        let set = format!(
            "(input => {{ input.value = {value}; for (const name of ['input', 'change']) \
             input.dispatchEvent(new Event(name, {{ bubbles: true }})); }})({input})"
        );
        self.tab.evaluate_script(&set).await.map(drop)
    }

    /// A value that a field of an HTML input type accepts.
    fn typed(&mut self, kind: &str) -> String {
        let number = self.rng.draw_below(100);
        match kind {
            "number" | "range" => number.to_string(),
            "email" => "somebody@example.org".to_owned(),
            "tel" => "+49 30 1234567".to_owned(),
            "url" => "https://example.org".to_owned(),
            "date" => format!("20{:02}-05-11", number % 30),
            "month" => format!("20{:02}-05", number % 30),
            "time" => format!("1{}:05", number % 10),
            _ => format!("“We” took turns {number} für soup"),
        }
    }

    /// Returns from the page of another site without having opened it: that site is not part of the rehearsal.
    pub(super) async fn visit_external(
        &mut self,
        id: &str,
        view: &StageView,
    ) -> anyhow::Result<()> {
        let StageView::External {
            ticket,
            code,
            must_return,
            ..
        } = view
        else {
            return Ok(());
        };
        if *code {
            let mut stages = self.around.study.timeline.iter();
            let code = stages.find_map(|stage| match &stage.kind {
                StageKind::External(external) if stage.id == id => external.code.clone(),
                _ => None,
            });
            let code = code.with_context(|| format!("the study has no code at `{id}`"))?;
            self.tab
                .click_element("form.external .code-field input")
                .await?;
            self.tab
                .page("Input.insertText", json!({ "text": code }))
                .await?;
        } else if *must_return {
            self.watch.begin_again();
            let address = self.address(&[("coplay_return".to_owned(), ticket.clone())]);
            return self.go_to(&address).await;
        }
        self.find_element("form.external .actions button[type=submit]")
            .await
    }

    /// Watches a recording to its end with a hand on the slider, and does the task.
    pub(super) async fn watch_film(&mut self) -> anyhow::Result<()> {
        let next = self.tab.evaluate_script(FILM_STEP).await?;
        match next.as_str().unwrap_or_default() {
            "" => self.pause_for(500, 1_500),
            "write" => {
                self.tab
                    .page("Input.insertText", json!({ "text": "We “waited” here." }))
                    .await?;
            }
            "key" => self.tab.key("rawKeyDown", "ArrowUp").await?,
            selector => self.find_element(selector).await?,
        }
        Ok(())
    }

    /// Waits, with a hand on the mouse, and answers questions.
    pub(super) async fn lobby(&mut self, seen: &Seen) -> anyhow::Result<()> {
        if seen.asked > 0 {
            let nth = self.rng.draw_below(seen.asked);
            let button =
                format!("document.querySelectorAll('section.lobby .question button')[{nth}]");
            self.tab.click_on(&button).await?;
        }
        let (x, y) = (
            100 + self.rng.draw_below(300),
            100 + self.rng.draw_below(300),
        );
        self.tab
            .send_mouse("mouseMoved", x as f64, y as f64)
            .await?;
        self.pause_for(500, 2_000);
        Ok(())
    }

    /// Writes to the group now and then, and continues once that is possible.
    pub(super) async fn chat(&mut self, id: &str) -> anyhow::Result<()> {
        self.pause_for(500, 3_000);
        let goes_on = self.rng.draw_below(4) == 0;
        if goes_on {
            let on = "section.talk .actions button:not([disabled])";
            return self.tab.click_element(on).await;
        }
        // No two messages are alike.
        let number = {
            let record = self.record.lock();
            format!("{}.{}", record.number, record.wrote.len())
        };
        self.tab.click_element("section.talk form textarea").await?;
        let text = json!({ "text": format!("Message {number} on {id}") });
        self.tab.page("Input.insertText", text).await?;
        self.tab
            .click_element("section.talk form button.primary")
            .await
    }

    /// Presses the key that a cook would press, or any key that has a meaning.
    pub(super) async fn play(&mut self) -> anyhow::Result<()> {
        let any = self.rng.draw_below(12);
        // Where every action advances a tick, a person who does nothing makes no progress.
        let turns = self
            .watch
            .plan
            .as_ref()
            .is_some_and(|plan| plan.rules.turns);
        let action = match (self.is_skilled, turns) {
            (true, false) => "coplay.advise()".to_owned(),
            (true, true) => format!("(action => action < 0 ? {any} : action)(coplay.advise())"),
            (false, _) => any.to_string(),
        };
        let key = format!("(action => action < 0 ? '' : coplay.key_for(action))({action})");
        let key = self.tab.evaluate_script(&key).await?;
        let key = key.as_str().unwrap_or_default();
        let codes: Vec<&str> = key.split('+').filter(|code| !code.is_empty()).collect();
        for code in &codes {
            self.tab.key("rawKeyDown", code).await?;
        }
        for code in codes.iter().rev() {
            self.tab.key("keyUp", code).await?;
        }
        if !self.is_skilled {
            self.pause_for(100, 500);
        }
        Ok(())
    }

    /// Reads the last page, which must show the code that the server gave.
    pub(super) fn end(&mut self, seen: &Seen) -> anyhow::Result<Option<Phase>> {
        let code = self.record.lock().farewell.code.clone();
        anyhow::ensure!(
            seen.code == code,
            "the last page shows the code `{}`, and the server gave `{code}`",
            seen.code
        );
        Ok(Some(Phase::Over))
    }
}
