//! Loaded tasks, kept: a prepared task never changes.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use journeyman_schemas::ids::TaskId;

use crate::{TaskError, public::PublicTask};

/// The public side of the tasks under one directory, each loaded once.
#[derive(Debug)]
pub struct Shelf {
    tasks: PathBuf,
    loaded: Mutex<HashMap<TaskId, Arc<PublicTask>>>,
}

impl Shelf {
    /// Over the directory `tasks` with one prepared task per folder. Reads nothing yet.
    pub fn new(tasks: PathBuf) -> Self {
        Self {
            tasks,
            loaded: Mutex::new(HashMap::new()),
        }
    }

    /// The task `id`, from disk when it is asked for the first time. Blocks then.
    pub fn public(&self, id: &TaskId) -> Result<Arc<PublicTask>, TaskError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = loaded.get(id) {
            return Ok(task.clone());
        }
        let task = Arc::new(PublicTask::load(&self.tasks.join(id.as_str()))?);
        loaded.insert(id.clone(), task.clone());
        Ok(task)
    }
}
