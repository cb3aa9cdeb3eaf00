use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_protocol::api;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::super::{ModelsOptions, Registration, VirtualModel};
use super::*;
use crate::FauxProvider;

/// Returns a fixed route and records the requests.
#[derive(Default)]
struct FixedRouter {
    target: (&'static str, &'static str),
    requests: Mutex<Vec<RouteRequest>>,
}

impl ModelRouter for FixedRouter {
    fn route(
        &self,
        request: RouteRequest,
        _cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ModelRoute, String>> {
        self.requests.lock().push(request);
        let (provider, id) = self.target;
        let route = match id {
            "throws" => Err("no budget left".to_owned()),
            _ => Ok(ModelRoute {
                model: RouteTarget {
                    provider: provider.to_owned(),
                    id: id.to_owned(),
                },
                thinking_level: ThinkingLevel::High,
                state: Some(json!({"n": 1})),
            }),
        };
        Box::pin(std::future::ready(route))
    }
}

fn registered(target: (&'static str, &'static str)) -> (Models, Arc<Model>, Arc<FixedRouter>) {
    let models = Models::new(ModelsOptions::default());
    let faux = Registration::Provider(Arc::new(FauxProvider::new()));
    models.register("faux", faux).unwrap();
    let router = Arc::new(FixedRouter {
        target,
        ..FixedRouter::default()
    });
    let model = Model {
        id: "auto".to_owned(),
        provider: "router".to_owned(),
        api: api::PI_VIRTUAL.to_owned(),
        ..Model::unknown()
    };
    let virtual_model = VirtualModel {
        model: Arc::new(model),
        router: Arc::clone(&router) as _,
    };
    let registration = Registration::Virtual(virtual_model);
    models.register("router", registration).unwrap();
    let model = models.model("router", "auto").unwrap();
    (models, model, router)
}

fn query() -> RouteQuery {
    RouteQuery::direct(ThinkingLevel::Low, CancellationToken::new())
}

fn response(provider: &str, stop_reason: StopReason) -> AssistantMessage {
    AssistantMessage {
        provider: provider.to_owned(),
        model: "faux-1".to_owned(),
        thinking_level: Some("high".to_owned()),
        stop_reason,
        ..AssistantMessage::default()
    }
}

#[tokio::test]
async fn a_request_goes_to_the_physical_model_that_the_router_chose() {
    let (models, auto, fixed) = registered(("faux", "faux-1"));
    let messages = [
        response("faux", StopReason::Stop),
        response("faux", StopReason::Error),
    ];
    let messages = messages
        .map(|one| Message::Assistant(Arc::new(one)))
        .to_vec();
    let failed = |provider| RouteQuery {
        reason: RouteReason::Retry,
        failed: Some(Arc::new(response(provider, StopReason::Error))),
        ..query()
    };
    for provider in ["faux", "router"] {
        let route = route_request(&models, &auto, messages.clone(), failed(provider)).await;
        let route = route.unwrap();
        assert_eq!(route.model.id, "faux-1");
        assert_eq!(route.state, Some(json!({"n": 1})));
        let level = route.model.clamp_thinking_level(ThinkingLevel::High);
        assert_eq!(route.thinking_level, level);
    }
    let requests = fixed.requests.lock();
    let previous = requests[0].previous.as_ref().unwrap();
    assert_eq!(previous.thinking_level.as_deref(), Some("high"));
    let failed = requests.iter().map(|request| request.failed.is_some());
    assert_eq!(failed.collect::<Vec<_>>(), [true, false]);
    let sent = json!(requests[1]);
    assert_eq!(sent["reason"], "retry");
    assert_eq!(sent["thinkingLevel"], "low");
    assert_eq!(sent.get("failed"), None);
}

#[tokio::test]
async fn a_route_that_cannot_answer_is_an_error() {
    for (target, message) in [
        (
            ("faux", "missing"),
            "faux/missing, which is not a physical model",
        ),
        (
            ("router", "auto"),
            "router/auto, which is not a physical model",
        ),
        (("anthropic", "claude-opus-4-5"), "which has no credential"),
        (("faux", "throws"), "no budget left"),
    ] {
        let (models, auto, _) = registered(target);
        let failed = route_request(&models, &auto, Vec::new(), query()).await;
        let failed = failed.unwrap_err().to_string();
        assert!(failed.contains(message), "{failed}");
    }
    let (models, auto, _) = registered(("faux", "faux-1"));
    models.unregister_virtual("router", "auto");
    let failed = route_request(&models, &auto, Vec::new(), query()).await;
    assert!(matches!(failed, Err(RouteError::NotRegistered(_))));
}
