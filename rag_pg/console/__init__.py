"""a value of the package -> how people and pipes see it; options that commands share.

For the command line and the commands of annexes.
"""

from rag_pg.console.markdown import (
    LiveMarkdown,
    markdown_lines,
)
from rag_pg.console.moments import (
    local_time,
    parsed_duration,
    parsed_moment,
)
from rag_pg.console.options import (
    Chosen,
    Dsn,
    Filter,
    History,
    Name,
    Rerank,
    Rewrites,
    Schema,
    SearchFlags,
    command,
    embedded_server,
    interruptible,
    make_client,
    open_client,
    open_collection,
    open_database,
    parsed_filter,
    parsed_history,
    parsed_object,
    parsed_pairs,
    silence,
)
from rag_pg.console.output import (
    MARKS,
    count_of,
    duration_of,
    passage_width,
    print_adopted,
    print_answer,
    print_events,
    print_fields,
    print_hits,
    show_progress,
    size_of,
    write_findings,
)
from rag_pg.console.terminal import (
    NARROWEST,
    Column,
    Part,
    as_json,
    cells,
    copy_field,
    failed,
    is_terminal,
    listing,
    note,
    plain,
    shortened,
    table_lines,
    visible,
    width,
    write,
    write_filled,
    write_json,
    write_message,
    write_result,
    write_table,
)
