"""How a job ends that was asked to give way."""

#: The exit code that says "saved, start me again later"; what a shell shows for SIGTERM.
STOPPED = 143


class Stop(SystemExit):
    """Raised by ``job.step`` once the job has saved and should end.

    It is a ``SystemExit``, so a script need not catch it: the process ends with code 143, which
    says that it was asked to stop and can go on later.
    """

    def __init__(self, step: int) -> None:
        super().__init__(STOPPED)
        #: The step up to which everything is saved.
        self.step = step

    def __str__(self) -> str:
        return f"saved at step {self.step} and stopped as asked"
