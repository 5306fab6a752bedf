//! A page in the browser, and the input of a person's hands.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::devtools::{DevTools, DevToolsEvent};

/// A page in the browser.
#[derive(Debug)]
pub(super) struct Tab {
    tools: DevTools,
    target: String,
    session: String,
    /// Its events.
    pub(super) events: mpsc::UnboundedReceiver<DevToolsEvent>,
}

impl Tab {
    /// Opens an empty page of a person.
    pub(super) async fn open(tools: &DevTools, context: &str) -> anyhow::Result<Self> {
        let params = json!({ "url": "about:blank", "browserContextId": context });
        let target = text(
            &tools.call(None, "Target.createTarget", params).await?,
            "targetId",
        )?;
        let params = json!({ "targetId": target, "flatten": true });
        let session = text(
            &tools.call(None, "Target.attachToTarget", params).await?,
            "sessionId",
        )?;
        let events = tools.listen(&session);
        for domain in ["Page.enable", "Network.enable", "Runtime.enable"] {
            tools.call(Some(&session), domain, json!({})).await?;
        }
        // Everybody is in front of their own window.
        let focus = json!({ "enabled": true });
        let focus = tools.call(Some(&session), "Emulation.setFocusEmulationEnabled", focus);
        focus.await?;
        Ok(Self {
            tools: tools.clone(),
            target,
            session,
            events,
        })
    }

    /// Closes it.
    pub(super) async fn close(&self) -> anyhow::Result<()> {
        let target = json!({ "targetId": self.target });
        self.tools
            .call(None, "Target.closeTarget", target)
            .await
            .map(drop)
    }

    /// Clicks on the first element of a selector, if there is one.
    pub(super) async fn click_element(&self, selector: &str) -> anyhow::Result<()> {
        self.click_on(&format!("document.querySelector({})", json!(selector)))
            .await
    }

    /// Clicks in the middle of an element, if it is there.
    pub(super) async fn click_on(&self, element: &str) -> anyhow::Result<()> {
        let place = format!(
            "(element => {{ if (!element) return null; element.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const at = element.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]; }})({element})"
        );
        let place = self.evaluate_script(&place).await?;
        if let (Some(x), Some(y)) = (place[0].as_f64(), place[1].as_f64()) {
            self.send_mouse("mouseMoved", x, y).await?;
            self.send_mouse("mousePressed", x, y).await?;
            self.send_mouse("mouseReleased", x, y).await?;
        }
        Ok(())
    }

    /// Moves the mouse, or presses a button of it.
    pub(super) async fn send_mouse(&self, what: &str, x: f64, y: f64) -> anyhow::Result<()> {
        let button = if what == "mouseMoved" { "none" } else { "left" };
        let event = json!({ "type": what, "x": x, "y": y, "button": button, "clickCount": 1 });
        self.page("Input.dispatchMouseEvent", event).await.map(drop)
    }

    /// Presses or releases a key.
    pub(super) async fn key(&self, what: &str, code: &str) -> anyhow::Result<()> {
        let event = json!({ "type": what, "code": code, "key": code });
        self.page("Input.dispatchKeyEvent", event).await.map(drop)
    }

    /// The value of an expression in the page.
    pub(super) async fn evaluate_script(&self, expression: &str) -> anyhow::Result<Value> {
        let params = json!({ "expression": expression, "returnByValue": true });
        let mut answer = self.page("Runtime.evaluate", params).await?;
        if let Some(why) = answer.get("exceptionDetails") {
            bail!("{why}");
        }
        Ok(answer["result"]["value"].take())
    }

    /// Calls a method of the page.
    pub(super) async fn page(&self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.tools.call(Some(&self.session), method, params).await
    }
}

/// A text in an answer of the browser.
pub(super) fn text(of: &Value, name: &str) -> anyhow::Result<String> {
    let text = of[name].as_str().map(str::to_owned);
    text.with_context(|| format!("the browser gives no {name}"))
}

/// A name or value as a part of an address.
///
/// Source: RFC 3986, section 2.3, unreserved characters.
pub(super) fn encode_text(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_has_no_room_for_is_encoded() {
        assert_eq!(encode_text("PROLIFIC_PID-00001"), "PROLIFIC_PID-00001");
        assert_eq!(encode_text("a b&c=ü"), "a%20b%26c%3D%C3%BC");
    }
}
