from life import live


def test_plain(dsn, tmp_path):
    live(dsn, tmp_path)
