//! The dashboard's interface, without a browser: who gets in, what each role may do, and what becomes of an order.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use coplay::downloads::make_table_writer;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use server_core::limits::Limits;
use signaling_server::assets::Assets;
use signaling_server::desk::router;
use signaling_server::server::{Server, ServerOptions};
use store::StudyStore;
use tower::ServiceExt as _;

struct Desk {
    data: tempfile::TempDir,
    server: Server,
    routes: Router,
    link: String,
}

/// The proof of a request's sender.
#[derive(Clone, Copy)]
enum By<'a> {
    Nobody,
    Cookie(&'a str),
    Token(&'a str),
}

impl Desk {
    async fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap()).await
    }

    async fn start_in(data: tempfile::TempDir) -> Self {
        let options = ServerOptions {
            study: Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad"),
            data: data.path().join("data"),
            links: 1,
            open: false,
            assets: Assets::Embedded,
            limits: Limits::default(),
            turn: None,
            access: Default::default(),
            changed: Default::default(),
            models: Default::default(),
        };
        let server = Server::start(options).await.unwrap();
        let desk = server.open_desk(true).await.unwrap();
        desk.offer_tables(make_table_writer());
        let link = desk.make_link().await.unwrap();
        Self {
            routes: router(Arc::clone(&desk)),
            link: link.rsplit_once('=').unwrap().1.to_owned(),
            data,
            server,
        }
    }

    fn folder(&self) -> std::path::PathBuf {
        self.data.path().join("data")
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        by: By<'_>,
        body: Option<Value>,
    ) -> (StatusCode, HeaderMap, Value) {
        let request = Request::builder()
            .method(method)
            .uri(format!("/desk/api/{path}"))
            .header(header::CONTENT_TYPE, "application/json");
        let request = match by {
            By::Nobody => request.header("x-coplay-desk", "1"),
            By::Cookie(cookie) => request
                .header(header::COOKIE, cookie)
                .header("x-coplay-desk", "1"),
            By::Token(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
        };
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let request = request.body(body).unwrap();
        let response = self.routes.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, 1 << 20).await.unwrap();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        (parts.status, parts.headers, body)
    }

    async fn get(&self, path: &str, by: By<'_>) -> (StatusCode, Value) {
        let (status, _, body) = self.send("GET", path, by, None).await;
        (status, body)
    }

    async fn post(&self, path: &str, by: By<'_>, body: Value) -> (StatusCode, Value) {
        let (status, _, body) = self.send("POST", path, by, Some(body)).await;
        (status, body)
    }

    /// Signs a browser in; returns its cookie.
    async fn sign_in(&self, link: &str, name: &str) -> String {
        let asked = json!({ "link": link, "name": name });
        let (status, headers, body) = self.send("POST", "session", By::Nobody, Some(asked)).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        let cookie = headers[header::SET_COOKIE].to_str().unwrap().to_owned();
        for part in ["HttpOnly", "SameSite=Strict", "Secure", "Path=/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        cookie.split(';').next().unwrap().to_owned()
    }

    async fn token(&self, admin: &str, role: &str) -> String {
        let wanted = json!({ "kind": "token", "name": role, "role": role });
        let (status, made) = self.post("keys", By::Cookie(admin), wanted).await;
        assert_eq!(status, StatusCode::CREATED, "{made}");
        made["token"].as_str().unwrap().to_owned()
    }
}

fn told(body: &Value) -> &str {
    body["error"].as_str().unwrap()
}

#[tokio::test]
async fn a_link_opens_once_and_a_revoked_session_is_out_at_once() {
    let desk = Desk::start().await;
    for by in [By::Nobody, By::Cookie("coplay_desk=0"), By::Token("0")] {
        let (status, body) = desk.get("overview", by).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
        assert!(told(&body).contains("coplay desk link"), "{body}");
    }
    let nameless = json!({ "link": desk.link, "name": "" });
    let (status, body) = desk.post("session", By::Nobody, nameless).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    let ada = desk.sign_in(&desk.link, "Ada").await;
    let again = json!({ "link": desk.link, "name": "Eve" });
    let (status, body) = desk.post("session", By::Nobody, again).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(told(&body).contains("opens once"), "{body}");
    let (_, me) = desk.get("me", By::Cookie(&ada)).await;
    assert_eq!(
        (&me["name"], &me["role"]),
        (&json!("Ada"), &json!("administer"))
    );

    // She lets Bo in, who may look, and takes that back.
    let wanted = json!({ "kind": "link", "name": "Bo", "role": "look" });
    let (_, made) = desk.post("keys", By::Cookie(&ada), wanted).await;
    let link = made["path"].as_str().unwrap().rsplit_once('=').unwrap().1;
    let bo = desk.sign_in(link, "somebody else").await;
    let (_, me) = desk.get("me", By::Cookie(&bo)).await;
    assert_eq!(me["name"], "Bo", "the link knows the name");
    let path = format!("keys/{}", me["id"]);
    let (status, ..) = desk.send("DELETE", &path, By::Cookie(&bo), None).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let (status, ..) = desk.send("DELETE", &path, By::Cookie(&ada), None).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let (status, _) = desk.get("overview", By::Cookie(&bo)).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let store = StudyStore::read(&desk.folder()).await.unwrap();
    let audit = store.audit().await.unwrap().into_iter();
    let audit: Vec<_> = audit.map(|entry| entry.action).collect();
    for part in [
        "Ada (administer): signed in",
        "made a link for Bo",
        "revoked key",
    ] {
        assert!(audit.iter().any(|entry| entry.contains(part)), "{audit:?}");
    }
    assert!(!audit.iter().any(|entry| entry.contains(link)));
}

#[tokio::test]
async fn each_role_does_what_it_may_and_no_more() {
    let desk = Desk::start().await;
    let ada = desk.sign_in(&desk.link, "Ada").await;
    let (look, act) = (
        desk.token(&ada, "look").await,
        desk.token(&ada, "act").await,
    );
    let pause = || json!({ "state": "paused" });
    let (status, body) = desk.post("recruitment", By::Token(&look), pause()).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(told(&body).contains("this needs `act`"), "{body}");
    let (status, body) = desk.get("keys", By::Token(&act)).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{body}");
    let (status, body) = desk.post("recruitment", By::Token(&act), pause()).await;
    assert_eq!(
        (status, &body["done"]),
        (StatusCode::OK, &json!("set_recruitment"))
    );
    let (_, seen) = desk.get("overview", By::Token(&look)).await;
    assert_eq!(seen["recruitment"], "paused");
    let warnings = seen["warnings"].as_array().unwrap();
    let is_told = |it: &Value| it["what"].as_str().unwrap().contains("paused");
    assert!(warnings.iter().any(is_told), "{warnings:?}");
    // Reading somebody's message informs them.
    for path in ["messages", "participants/P-X/messages"] {
        let (status, body) = desk.get(path, By::Token(&look)).await;
        assert_eq!((status, body), (StatusCode::OK, json!([])), "{path}");
    }
    for (path, body) in [
        ("messages", json!({ "text": "hello" })),
        ("participants/P-X/messages/read", json!({ "before": 1 })),
        ("participants/P-X/seat", json!({ "outcome": "technical" })),
    ] {
        let (status, body) = desk.post(path, By::Token(&look), body).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}: {body}");
    }
    let (_, done) = desk.get("interventions", By::Token(&look)).await;
    assert_eq!(
        (&done[0]["by"], &done[0]["order"], &done[0]["detail"]),
        (&json!("act"), &json!("set_recruitment"), &json!("paused"))
    );

    // A page of another site can send no header of ours.
    let request = Request::post("/desk/api/recruitment")
        .header(header::COOKIE, &ada)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(json!({ "state": "open" }).to_string()))
        .unwrap();
    let response = desk.routes.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn tables_are_downloaded_by_those_who_may_act_and_that_is_written_down() {
    let desk = Desk::start().await;
    let ada = desk.sign_in(&desk.link, "Ada").await;
    let look = desk.token(&ada, "look").await;
    let (status, body) = desk.get("tables/csv", By::Token(&look)).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{body}");
    let (status, body) = desk.get("tables/xls", By::Cookie(&ada)).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(told(&body).contains("parquet"), "{body}");
    for format in ["csv", "parquet"] {
        let request = Request::get(format!("/desk/api/tables/{format}"))
            .header(header::COOKIE, &ada)
            .body(Body::empty())
            .unwrap();
        let response = desk.routes.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, 1 << 24).await.unwrap();
        assert_eq!(
            head.headers[header::CONTENT_LENGTH],
            bytes.len().to_string()
        );
        // The magic of a zip archive, and the names of its files.
        assert!(bytes.starts_with(b"PK\x03\x04"));
        for name in ["sessions", "desk_messages", "interventions"] {
            let name = format!("tables/{name}.{format}");
            let is_there = bytes.windows(name.len()).any(|it| it == name.as_bytes());
            assert!(is_there, "{name}");
        }
    }
    let store = StudyStore::read(&desk.folder()).await.unwrap();
    let audit = store.audit().await.unwrap().into_iter();
    let done: Vec<_> = audit
        .map(|entry| entry.action)
        .filter(|action| action.contains("downloaded"))
        .collect();
    let told = |format| format!("Ada (administer): downloaded the tables ({format})");
    assert_eq!(done, [told("csv"), told("parquet")]);
}

#[tokio::test]
async fn a_wrong_order_says_what_is_wrong_and_changes_nothing() {
    let desk = Desk::start().await;
    let ada = desk.sign_in(&desk.link, "Ada").await;
    let bonus = |reason: &str| json!({ "bonus": 5, "reason": reason });
    for (path, body, status, words) in [
        (
            "recruitment",
            json!({ "state": "shut" }),
            StatusCode::BAD_REQUEST,
            "openapi.json",
        ),
        (
            "places",
            json!({ "places": [1, 2] }),
            StatusCode::BAD_REQUEST,
            "one number",
        ),
        (
            "participants/P-X/wait",
            json!({ "then": "longer" }),
            StatusCode::NOT_FOUND,
            "P-X",
        ),
        (
            "participants/P-X/room",
            json!({ "room": "warm" }),
            StatusCode::NOT_FOUND,
            "P-X",
        ),
        (
            "participants/P-X/end",
            json!({ "outcome": "technical" }),
            StatusCode::NOT_FOUND,
            "P-X",
        ),
        (
            "participants/P-X/bonus",
            bonus(" "),
            StatusCode::BAD_REQUEST,
            "`reason`",
        ),
        (
            "participants/P-X/bonus",
            bonus("slow"),
            StatusCode::NOT_FOUND,
            "P-X",
        ),
        (
            "participants/P-X/messages",
            json!({ "text": "hello" }),
            StatusCode::NOT_FOUND,
            "P-X",
        ),
        (
            "groups/G-X/messages",
            json!({ "text": "hello" }),
            StatusCode::NOT_FOUND,
            "G-X",
        ),
        (
            "messages",
            json!({ "text": " \u{202e}\n" }),
            StatusCode::BAD_REQUEST,
            "1 to 1000 characters",
        ),
        (
            "messages",
            json!({ "text": "hello" }),
            StatusCode::CONFLICT,
            "nobody is there",
        ),
        (
            "participants/P-X/check",
            json!({ "text": "Which?", "within_s": "soon" }),
            StatusCode::BAD_REQUEST,
            "openapi.json",
        ),
        (
            "participants/P-X/seat",
            json!({ "outcome": "technical", "bonus": 5 }),
            StatusCode::BAD_REQUEST,
            "`reason`",
        ),
        (
            "participants/P-X/seat",
            json!({ "outcome": "technical" }),
            StatusCode::NOT_FOUND,
            "P-X",
        ),
    ] {
        let (found, body) = desk.post(path, By::Cookie(&ada), body).await;
        assert_eq!(found, status, "{path}: {body}");
        assert!(told(&body).contains(words), "{path}: {body}");
    }
    let (_, done) = desk.get("interventions", By::Cookie(&ada)).await;
    assert_eq!(done, json!([]));
}

#[tokio::test]
async fn places_and_recruitment_outlive_the_server() {
    let desk = Desk::start().await;
    let ada = desk.sign_in(&desk.link, "Ada").await;
    let (status, body) = desk
        .post("places", By::Cookie(&ada), json!({ "places": [7] }))
        .await;
    assert_eq!(status, StatusCode::OK, "{body}");
    desk.post(
        "recruitment",
        By::Cookie(&ada),
        json!({ "state": "closed" }),
    )
    .await;
    let Desk { data, server, .. } = desk;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    server
        .serve(listener, std::future::ready(()))
        .await
        .unwrap();
    let desk = Desk::start_in(data).await;
    let (status, seen) = desk.get("overview", By::Cookie(&ada)).await;
    assert_eq!(status, StatusCode::OK, "the session too: {seen}");
    assert_eq!(
        (&seen["places"]["wanted"], &seen["recruitment"]),
        (&json!(7), &json!("closed"))
    );
}

#[tokio::test]
async fn a_stream_tells_what_changes_and_ends_with_its_key() {
    let desk = Desk::start().await;
    let ada = desk.sign_in(&desk.link, "Ada").await;
    let token = desk.token(&ada, "look").await;
    let request = Request::get("/desk/api/events")
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .body(Body::empty())
        .unwrap();
    let response = desk.routes.clone().oneshot(request).await.unwrap();
    assert_eq!(
        response.headers()[header::CONTENT_TYPE],
        "text/event-stream"
    );
    let mut stream = response.into_body();
    let mut next = async || {
        let frame = stream.frame().await?.unwrap();
        let text = String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap();
        let (name, data) = text.split_once('\n').unwrap();
        assert_eq!(name, "event: overview");
        let data = data.strip_prefix("data: ").unwrap();
        Some(serde_json::from_str::<Value>(data).unwrap())
    };
    assert_eq!(next().await.unwrap()["recruitment"], "open");
    desk.post(
        "recruitment",
        By::Cookie(&ada),
        json!({ "state": "paused" }),
    )
    .await;
    loop {
        if next().await.unwrap()["recruitment"] == "paused" {
            break;
        }
    }
    let (_, keys) = desk.get("keys", By::Cookie(&ada)).await;
    let own = keys
        .as_array()
        .unwrap()
        .iter()
        .find(|key| key["kind"] == "token");
    let path = format!("keys/{}", own.unwrap()["id"]);
    desk.send("DELETE", &path, By::Cookie(&ada), None).await;
    while next().await.is_some() {}
}

#[tokio::test]
async fn the_command_makes_lists_and_revokes_while_the_server_runs() {
    let desk = Desk::start().await;
    let data = desk.folder();
    let coplay = |words: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_coplay"))
            .arg("desk")
            .args(words)
            .args(["--data", data.to_str().unwrap()])
            .output()
            .unwrap();
        let said = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), said(done.stdout), said(done.stderr))
    };
    let (code, out, said) = coplay(&["token", "--name", "script", "--json"]);
    assert_eq!(code, Some(0), "{said}");
    let made: Value = serde_json::from_str(&out).unwrap();
    let token = made["token"].as_str().unwrap();
    assert_eq!(
        desk.get("overview", By::Token(token)).await.0,
        StatusCode::OK
    );
    let (_, out, _) = coplay(&["link", "--url", "https://study.example.edu/"]);
    assert!(
        out.starts_with("https://study.example.edu/desk#key="),
        "{out}"
    );
    let (_, out, _) = coplay(&["list"]);
    assert!(out.contains("token") && out.contains("script"), "{out}");
    assert!(!out.contains(token));
    let id = made["key"]["id"].to_string();
    assert_eq!(coplay(&["revoke", &id]).0, Some(0));
    let (status, _) = desk.get("overview", By::Token(token)).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let (code, _, said) = coplay(&["revoke", &id]);
    assert_eq!(code, Some(1));
    assert!(said.contains("coplay desk list"), "{said}");
}
