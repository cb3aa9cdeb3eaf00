//! Reports responses of providers that have received too many requests.

use futures_util::future::BoxFuture;
use pi_http::{ResponseHead, classify_status};
use pi_protocol::{ErrorClass, Model, RateLimitLine};

use crate::options::RequestHooks;

/// Receives rate limits of providers.
pub trait RateLimitObserver: Send + Sync {
    /// A provider has refused a request; the request waits for the observer.
    fn rate_limited(&self, limit: RateLimitLine) -> BoxFuture<'_, ()>;
}

/// Hooks that report rate limits and change nothing.
#[derive(Debug)]
pub struct RateLimitHooks<Observer>(Observer);

impl<Observer: RateLimitObserver> RateLimitHooks<Observer> {
    pub fn new(observer: Observer) -> Self {
        Self(observer)
    }
}

impl<Observer: RateLimitObserver> RequestHooks for RateLimitHooks<Observer> {
    fn on_response<'a>(
        &'a self,
        response: &'a ResponseHead,
        model: &'a Model,
    ) -> BoxFuture<'a, ()> {
        let ErrorClass::RateLimited { retry_after } = classify_status(response, "") else {
            return Box::pin(std::future::ready(()));
        };
        let retry_after = retry_after.map(|delay| delay.as_millis());
        self.0.rate_limited(RateLimitLine {
            model: format!("{}/{}", model.provider, model.id),
            retry_after_ms: retry_after.and_then(|delay| u64::try_from(delay).ok()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use pretty_assertions::assert_eq;

    use super::*;

    struct RecordedLimits(Arc<Mutex<Vec<RateLimitLine>>>);

    impl RateLimitObserver for RecordedLimits {
        fn rate_limited(&self, limit: RateLimitLine) -> BoxFuture<'_, ()> {
            self.0.lock().unwrap().push(limit);
            Box::pin(std::future::ready(()))
        }
    }

    #[tokio::test]
    async fn only_rate_limits_are_reported() {
        let limits = Arc::new(Mutex::new(Vec::new()));
        let hooks = RateLimitHooks::new(RecordedLimits(Arc::clone(&limits)));
        let model = Model {
            id: "m".to_owned(),
            provider: "p".to_owned(),
            ..Model::unknown()
        };
        let retry_after = || BTreeMap::from([("retry-after".to_owned(), "2".to_owned())]);
        for (status, headers) in [
            (200, BTreeMap::new()),
            (500, retry_after()),
            (429, retry_after()),
            (429, BTreeMap::new()),
        ] {
            let response = ResponseHead { status, headers };
            hooks.on_response(&response, &model).await;
        }
        let limit = |retry_after_ms| RateLimitLine {
            model: "p/m".to_owned(),
            retry_after_ms,
        };
        assert_eq!(*limits.lock().unwrap(), [limit(Some(2000)), limit(None)]);
    }
}
