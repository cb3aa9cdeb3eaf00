//! `stop`: ends models, closes their tunnels, and removes them from pi.

use super::{Program, running};
use crate::args::StopOptions;
use crate::output::{Failure, print_line};
use crate::pods_file::is_valid_name;
use crate::script::{self, Script};

impl Program {
    pub(crate) fn stop(&self, options: &StopOptions) -> Result<(), Failure> {
        let pod = self.pod(options.pod.as_deref())?;
        let names: Vec<&String> = match &options.name {
            Some(name) => {
                running(&pod, name)?;
                vec![name]
            }
            None => pod
                .pod
                .models
                .keys()
                .filter(|name| is_valid_name(name))
                .collect(),
        };
        if names.is_empty() {
            print_line(&format!("No models on {}", pod.name));
            return Ok(());
        }
        let connection = self.connection(&pod)?;
        for name in names {
            let model = running(&pod, name)?;
            let stopped = connection.run(stop_script(name, model.pid));
            match stopped {
                Err(error) if !options.force => {
                    let failure = Failure::from(error);
                    return Err(
                        failure.hint("add --force to forget the model if the machine is gone")
                    );
                }
                Ok(_) | Err(_) => {}
            }
            if let Some(port) = model.local_port {
                connection.cancel_forward(port, model.port);
            }
            self.pods.change(|config| {
                if let Some(pod) = config.pods.get_mut(&pod.name) {
                    pod.models.remove(name);
                }
            })?;
            self.register(&pod.name)?;
            print_line(&format!("Stopped {name} on {}", pod.name));
        }
        self.close_if_idle(&connection, &pod.name)
    }
}

pub(super) fn stop_script(name: &str, pid: u32) -> Script {
    let script = Script::new(script::STOP).variable("NAME", name);
    script.variable("PID", &pid.to_string())
}
