//! Handles the messages of Node.

use serde_json::Value;

use super::{ExitReason, NodeCallResult, NodeProcess};
use crate::error::EngineError;
use crate::host::{ConsoleLevel, ConsoleLine, ExtensionFault, HostError};
use crate::node_host::NodeHostError;
use crate::node_host::frame::{self, CallTarget, FromNode, HostCall, ToNode};

impl NodeProcess<'_> {
    pub(super) async fn handle_frame(&mut self, frame: FromNode) -> Result<(), ExitReason> {
        match frame {
            FromNode::Ready | FromNode::Pong => {}
            FromNode::Unsupported { version } => {
                return Err(ExitReason::Failed(NodeHostError::TooOld(version)));
            }
            FromNode::Call(call) => {
                let id = call.id;
                let result = self.handle_call(call);
                self.send(&ToNode::response(id, result)).await?;
            }
            FromNode::Request(call) => self.start_request(call),
            FromNode::Cancel { id } => {
                if let Some(task) = self.in_flight.remove(&id) {
                    task.abort();
                }
            }
            FromNode::Settled { id, value } => self.settle(id, Ok(value)),
            FromNode::Failed { id, error } => {
                self.settle(id, Err(EngineError::Exception(error.into())));
            }
            FromNode::Unserializable { id, message } => {
                self.settle(id, Err(EngineError::InvalidValue(message)));
            }
            FromNode::Handler {
                dispatch,
                extension,
            } => self.options.running_hooks.enter(dispatch, extension),
            FromNode::Print {
                level,
                text,
                extension,
            } => self.print(extension, frame::console_level(&level), text),
            FromNode::Fault {
                fault,
                message,
                stack,
                extension,
            } => self.options.host.0.fault(ExtensionFault {
                extension,
                kind: frame::fault_kind(&fault),
                message,
                stack,
            }),
        }
        Ok(())
    }

    fn handle_call(&mut self, call: HostCall) -> Result<Value, HostError> {
        let HostCall {
            target,
            method,
            arguments,
            extension,
            ..
        } = call;
        match target {
            CallTarget::Host => self
                .options
                .host
                .0
                .call(extension.as_deref(), &method, arguments),
            CallTarget::Modules => self.module_server.handle(&method, &arguments),
            CallTarget::Terminal => self.terminal_service.handle(&method, &arguments),
        }
    }

    fn start_request(&mut self, call: HostCall) {
        let HostCall {
            id,
            method,
            arguments,
            extension,
            ..
        } = call;
        let host = &self.options.host.0;
        let work = host.request(extension.as_deref(), &method, arguments);
        let task = self.requests.spawn(async move { (id, work.await) });
        self.in_flight.insert(id, task);
    }

    fn settle(&mut self, id: u64, result: NodeCallResult) {
        if let Some(reply) = self.calls.remove(&id) {
            // Sending fails only if the caller has dropped its receiver.
            drop(reply.send(result));
        }
    }

    pub(super) fn print(&self, extension: Option<String>, level: ConsoleLevel, text: String) {
        self.options.host.0.console(ConsoleLine {
            extension,
            level,
            text,
        });
    }
}
