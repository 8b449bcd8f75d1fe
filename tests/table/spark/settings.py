"""Settings of the Sparks that tests start: on this machine, for tables of a few rows."""

from __future__ import annotations

QUICK_START = {
    # Plans are made far more often than they run: nothing is worth compiling.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m -XX:NewSize=300m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
"""Java that starts soon, whatever it would win later; that does not verify the classes of Spark, throws none
of its own code away, and seldom looks for memory to give back."""

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "Europe/Berlin",
    "spark.driver.extraJavaOptions": JAVA,
    **QUICK_START,
}
