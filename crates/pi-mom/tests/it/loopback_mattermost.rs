//! A Mattermost on loopback: posts, reactions, files and the socket.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio_tungstenite::tungstenite::Message;

use crate::loopback_slack::{read_request, reply};

pub(crate) const BOT: &str = "bot1";

#[derive(Default)]
struct State {
    clock: i64,
    posts: Vec<Value>,
    sockets: Vec<mpsc::UnboundedSender<String>>,
    files: Vec<Vec<u8>>,
}

#[derive(Clone)]
pub(crate) struct LoopbackMattermost {
    state: Arc<Mutex<State>>,
    changes: watch::Sender<u64>,
    url: String,
}

impl LoopbackMattermost {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            state: Arc::default(),
            changes: watch::Sender::new(0),
            url: format!("http://{}", listener.local_addr().unwrap()),
        };
        let accepting = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = accepting.clone();
                tokio::spawn(async move { server.connection(stream).await });
            }
        });
        server
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state.lock().unwrap());
        self.changes.send_modify(|number| *number += 1);
        result
    }

    /// Stores a post of a user, and sends it to the sockets.
    pub(crate) fn say(&self, channel: &str, user: &str, text: &str) {
        self.change(|state| {
            let post = state.add(json!({"channel_id": channel, "user_id": user, "message": text}));
            let event = json!({"event": "posted", "data": {"post": post.to_string()}});
            state.send(&event);
        });
    }

    pub(crate) fn react(&self, channel: &str, post: &str, user: &str, emoji: &str) {
        let reaction = json!({"user_id": user, "post_id": post, "emoji_name": emoji}).to_string();
        let event = json!({
            "event": "reaction_added", "data": {"reaction": reaction}, "broadcast": {"channel_id": channel},
        });
        self.change(|state| state.send(&event));
    }

    pub(crate) fn posts_of_bot(&self) -> Vec<Value> {
        let mut posts = self.state.lock().unwrap().posts.clone();
        posts.retain(|post| post["user_id"] == BOT);
        posts
    }

    pub(crate) fn files(&self) -> Vec<Vec<u8>> {
        self.state.lock().unwrap().files.clone()
    }

    pub(crate) async fn wait_until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let mut changes = self.changes.subscribe();
        let waiting = async {
            while !condition(self) {
                changes.changed().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), waiting).await;
        assert!(waited.is_ok(), "{what}: {:#?}", self.posts_of_bot());
    }

    async fn connection(&self, mut stream: TcpStream) {
        const SOCKET: &[u8] = b"GET /api/v4/websocket";
        let mut start = [0; SOCKET.len()];
        while stream.peek(&mut start).await.unwrap_or(0) < start.len() {
            if stream.readable().await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        if start == SOCKET {
            self.socket(stream).await;
            return;
        }
        let mut buffer = Vec::new();
        while let Some((head, body)) = read_request(&mut stream, &mut buffer).await {
            let mut words = head.split(' ');
            let (method, path) = (words.next().unwrap(), words.next().unwrap());
            let path = path.strip_prefix("/api/v4/").unwrap().to_owned();
            let answer = self.change(|state| state.call(method, &path, body));
            match answer {
                Some(answer) => reply(&mut stream, "200 OK", answer.to_string().as_bytes()).await,
                None => reply(&mut stream, "404 Not Found", b"{\"message\":\"not found\"}").await,
            }
        }
    }

    async fn socket(&self, stream: TcpStream) {
        let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else {
            return;
        };
        let (sender, mut lines) = mpsc::unbounded_channel();
        self.change(|state| state.sockets.push(sender));
        loop {
            tokio::select! {
                Some(line) = lines.recv() => if socket.send(Message::text(line)).await.is_err() { return },
                received = socket.next() => if !matches!(received, Some(Ok(_))) { return },
            }
        }
    }
}

impl State {
    fn add(&mut self, mut post: Value) -> Value {
        self.clock += 1;
        post["id"] = format!("post{}", self.clock).into();
        let start = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
        post["create_at"] = (i64::try_from(start).unwrap() + self.clock).into();
        self.posts.push(post.clone());
        post
    }

    fn send(&self, event: &Value) {
        for socket in &self.sockets {
            socket.send(event.to_string()).ok();
        }
    }

    fn call(&mut self, method: &str, path: &str, body: Vec<u8>) -> Option<Value> {
        let json = || serde_json::from_slice::<Value>(&body).unwrap();
        let path_only = path.split('?').next().unwrap();
        let words: Vec<&str> = path_only.split('/').collect();
        Some(match (method, words.as_slice()) {
            ("GET", ["users", "me"]) => json!({"id": BOT, "username": "mom"}),
            ("GET", ["users", "me", "channels"]) => {
                json!([{"id": "chan1", "name": "town", "type": "O"}])
            }
            ("GET", ["users", id]) => json!({"id": id, "username": format!("name-{id}")}),
            ("GET", ["channels", id]) => json!({"id": id, "name": "town", "type": "O"}),
            ("GET", ["channels", id, "posts"]) => {
                let posts = self
                    .posts
                    .iter()
                    .rev()
                    .filter(|post| post["channel_id"] == *id);
                let posts: Vec<&Value> = posts.collect();
                let order: Vec<&Value> = posts.iter().map(|post| &post["id"]).collect();
                let by_id = posts
                    .iter()
                    .map(|post| (post["id"].as_str().unwrap().to_owned(), (*post).clone()));
                json!({"order": order, "posts": Value::Object(by_id.collect())})
            }
            ("POST", ["posts"]) => {
                let mut post = json();
                post["user_id"] = BOT.into();
                self.add(post)
            }
            ("POST", ["reactions"]) => json!({}),
            ("POST", ["files"]) => {
                self.files.push(body);
                json!({"file_infos": [{"id": format!("file{}", self.files.len())}]})
            }
            ("PUT", ["posts", id, "patch"]) => {
                let message = json()["message"].clone();
                let post = self.posts.iter_mut().find(|post| post["id"] == *id)?;
                post["message"] = message;
                post.clone()
            }
            ("DELETE", ["posts", id]) => {
                self.posts.retain(|post| post["id"] != *id);
                json!({})
            }
            _ => return None,
        })
    }
}
