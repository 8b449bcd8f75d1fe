import pytest

from studio.stage import StudioClient, open_studio


@pytest.fixture
def studio(tmp_path):
    return open_studio(tmp_path)


@pytest.fixture
def client(studio):
    return StudioClient(studio)
