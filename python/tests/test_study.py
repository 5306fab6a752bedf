"""A running study from Python: what is sent, what is read, and what a refusal says."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from coplay import Study, StudyError


class Desk(BaseHTTPRequestHandler):
    """Answers as the dashboard does, and remembers what it was asked."""

    asked: list

    def answer(self, status, body, media="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def respond(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        self.server.asked.append((self.command, self.path, body))
        if self.headers["Authorization"] != "Bearer good":
            self.answer(401, json.dumps({"error": "you are not signed in"}).encode())
        elif self.path == "/desk/api/overview":
            self.answer(200, b'{"at_us": 7}')
        elif self.path == "/desk/api/events":
            text = b'event: overview\ndata: {"at_us": 1}\n\nevent: overview\ndata: {"at_us": 2}\n\n'
            self.answer(200, text, "text/event-stream")
        elif self.path.startswith("/desk/api/participants/P-%2F"):
            self.answer(404, json.dumps({"error": "there is no participant P-/"}).encode())
        elif self.path.endswith("messages") and self.command == "GET":
            self.answer(200, b'[{"number": 0}]')
        elif self.path == "/desk/api/tables/parquet":
            self.answer(200, b"PK", "application/zip")
        elif self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.server.server_port}/desk/api/overview")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path.startswith("/page/"):
            self.answer(200, b"<html>", "text/html")
        elif self.path.startswith("/short/"):
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b'data: {"at_us": 1}\n')
        elif self.path.startswith("/torn/"):
            self.wfile.write(b"nothing of HTTP\r\n\r\n")
        elif self.path.startswith("/slow/"):
            self.server.released.wait(20)
        elif self.path.startswith("/below/"):
            self.answer(200, b'{"at_us": 8}')
        elif self.path == "/desk/api/places":
            self.answer(502, b"<html>", "text/html")
        else:
            self.answer(200, b'{"done": "it"}')

    do_GET = do_POST = respond

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Desk)
    server.asked = []
    server.released = threading.Event()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


def study(server, token="good", path="/", timeout_s=20):
    return Study(f"http://127.0.0.1:{server.server_port}{path}", token, timeout_s=timeout_s)


def test_what_is_seen_is_read_once_or_as_a_stream(server):
    assert study(server).overview() == {"at_us": 7}
    assert [seen["at_us"] for seen in study(server).events()] == [1, 2]


def test_every_order_goes_to_its_address_with_its_body(server):
    running = study(server)
    running.open_recruitment()
    running.pause_recruitment()
    running.close_recruitment()
    running.wait_longer("P-A")
    running.continue_alone("P-A")
    running.move_to_room("P-A", "warm/large")
    running.end_session("P-A", "technical")
    running.correct_bonus("P-A", 50, "slow")
    assert server.asked == [
        ("POST", "/desk/api/recruitment", {"state": "open"}),
        ("POST", "/desk/api/recruitment", {"state": "paused"}),
        ("POST", "/desk/api/recruitment", {"state": "closed"}),
        ("POST", "/desk/api/participants/P-A/wait", {"then": "longer"}),
        ("POST", "/desk/api/participants/P-A/wait", {"then": "alone"}),
        ("POST", "/desk/api/participants/P-A/room", {"room": "warm/large"}),
        ("POST", "/desk/api/participants/P-A/end", {"outcome": "technical"}),
        ("POST", "/desk/api/participants/P-A/bonus", {"bonus": 50, "reason": "slow"}),
    ]


def test_messages_are_written_read_and_asked(server):
    running = study(server)
    running.write_to_participant("P-A", "hello")
    running.write_to_group("G-1", "hello")
    running.write_to_everybody("hello")
    running.mark_read("P-A", 3)
    running.check_attention("P-A", "Which colour?", within_s=20, choices=["red", "blue"], expected="blue")
    running.give_seat("P-A", "technical", bonus=50, reason="the keyboard broke")
    assert running.messages() == running.messages("P-A") == [{"number": 0}]
    check = {"text": "Which colour?", "within_s": 20, "choices": ["red", "blue"], "expected": "blue"}
    assert server.asked == [
        ("POST", "/desk/api/participants/P-A/messages", {"text": "hello"}),
        ("POST", "/desk/api/groups/G-1/messages", {"text": "hello"}),
        ("POST", "/desk/api/messages", {"text": "hello"}),
        ("POST", "/desk/api/participants/P-A/messages/read", {"before": 3}),
        ("POST", "/desk/api/participants/P-A/check", check),
        ("POST", "/desk/api/participants/P-A/seat", {"outcome": "technical", "bonus": 50, "reason": "the keyboard broke"}),
        ("GET", "/desk/api/messages", None),
        ("GET", "/desk/api/participants/P-A/messages", None),
    ]


def test_tables_are_downloaded_into_a_file(server, tmp_path):
    study(server).download_tables(tmp_path / "tables.zip", "parquet")
    assert (tmp_path / "tables.zip").read_bytes() == b"PK"


def test_a_refusal_has_the_words_of_the_server(server):
    with pytest.raises(StudyError, match="not signed in") as refused:
        study(server, "bad").overview()
    assert refused.value.status == 401
    with pytest.raises(StudyError, match="no participant P-/"):
        study(server).end_session("P-/", "technical")
    with pytest.raises(StudyError, match="502"):
        study(server).set_places([3, 4])
    assert server.asked[-1][2] == {"places": [3, 4]}


def test_what_is_no_address_or_no_token_is_refused_at_once():
    with pytest.raises(ValueError, match="is no address"):
        Study("study.example.edu", "good")
    with pytest.raises(ValueError, match="is no token"):
        Study("https://study.example.edu", "a b")
    with pytest.raises(StudyError, match="does not answer") as refused:
        Study("http://127.0.0.1:9", "good", timeout_s=5).overview()
    assert refused.value.status is None


def test_the_path_of_an_address_is_kept_and_what_is_no_part_of_it_refused(server):
    for path in ("/below", "/below/"):
        assert study(server, path=path).overview() == {"at_us": 8}
        assert server.asked[-1][1] == "/below/desk/api/overview"
    for path in ("/?study=a", "/#desk"):
        with pytest.raises(ValueError, match="leave out"):
            study(server, path=path)


def test_a_redirect_is_not_followed_with_the_token(server):
    with pytest.raises(StudyError, match="sends to http://localhost") as refused:
        study(server, path="/moved").overview()
    assert refused.value.status == 302
    with pytest.raises(StudyError, match="sends to"):
        study(server, path="/moved").close_recruitment()
    assert [path for _, path, _ in server.asked] == ["/moved/desk/api/overview", "/moved/desk/api/recruitment"]


@pytest.mark.parametrize(
    ("path", "words"),
    [("/page", "something else than JSON"), ("/short", "does not answer"), ("/torn", "does not answer")],
)
def test_whatever_comes_in_place_of_an_answer_is_a_study_error(server, path, words):
    with pytest.raises(StudyError, match=words) as failed:
        study(server, path=path).overview()
    assert failed.value.status is None


def test_a_stream_that_breaks_off_and_an_answer_that_is_late_are_study_errors(server):
    with pytest.raises(StudyError, match="does not answer"):
        study(server, path="/slow", timeout_s=0.2).overview()
    with pytest.raises(StudyError, match="does not answer"):
        list(study(server, path="/slow", timeout_s=0.2).events())
    with pytest.raises(StudyError, match="does not answer"):
        study(server, path="/slow", timeout_s=0.2).pause_recruitment()


def test_an_address_that_cannot_be_asked_is_a_study_error():
    with pytest.raises(StudyError, match="does not answer"):
        Study("http://127.0.0.1:none", "good", timeout_s=5).overview()
